"""A check that never fails is worth nothing: each is shown the fault it is for."""

import subprocess
import sys
from pathlib import Path

import pytest

CHECKS = Path(__file__).parents[2] / "checks"


def run(check: str, root: Path, *more: str) -> tuple[int, str]:
    done = subprocess.run(
        [sys.executable, str(CHECKS / f"{check}.py"), str(root), *more],
        capture_output=True,
        text=True,
        check=False,
    )
    assert not done.stderr
    return done.returncode, done.stdout


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    root = tmp_path / "reverie"
    for folder in ("records", "search", "migrations"):
        (root / folder).mkdir(parents=True)
    write(root / "records" / "notes.py", 'SAVE = "INSERT INTO notes (id) VALUES (%s)"')
    return root


def write(path: Path, body: str) -> None:
    path.write_text(f'"""Owns {path.stem}."""\n\n{body}\n', encoding="utf-8")


def test_one_writer_passes_a_table_with_one_writer(tree: Path) -> None:
    write(tree / "search" / "read.py", 'READ = "SELECT * FROM notes"')
    code, said = run("one_writer", tree, "-v")
    assert code == 0
    assert "notes" in said
    assert "reverie.records.notes" in said


@pytest.mark.parametrize(
    "statement",
    [
        "INSERT INTO notes (id) VALUES (%s)",
        "insert into public.notes (id) values (%s)",
        'UPDATE "notes" SET heat = 0',
        "WITH old AS (SELECT 1) UPDATE notes AS n SET heat = 0 FROM old",
        "DELETE FROM ONLY notes WHERE id = %s",
        "MERGE INTO notes USING incoming ON true WHEN MATCHED THEN DELETE",
        "COPY notes (id, title) FROM STDIN",
        "TRUNCATE TABLE notes",
    ],
)
def test_one_writer_catches_a_second_writer(tree: Path, statement: str) -> None:
    write(
        tree / "search" / "sneaky.py",
        f"async def f(db):\n    await db.execute('''\n{statement}''')",
    )
    code, said = run("one_writer", tree)
    assert code == 1
    assert (
        "reverie.records.notes and reverie.search.sneaky both write the table notes"
        in said
    )


def test_one_writer_reads_f_strings_and_sql_files(tree: Path) -> None:
    write(
        tree / "search" / "a.py",
        'def f(n: int) -> str:\n    return f"DELETE FROM notes LIMIT {n}"',
    )
    (tree / "search" / "b.sql").write_text(
        "-- DELETE FROM links\nINSERT INTO notes SELECT 1;", encoding="utf-8"
    )
    code, said = run("one_writer", tree)
    assert code == 1
    assert "reverie.records.notes and reverie.search and reverie.search.a" in said
    assert "links" not in said


def test_one_writer_refuses_a_table_named_at_run_time(tree: Path) -> None:
    write(tree / "search" / "any.py", 'SAVE = "INSERT INTO {table} (id) VALUES (%s)"')
    code, said = run("one_writer", tree)
    assert code == 1
    assert "reverie.search.any names a table it writes at run time ({table})" in said


def test_one_writer_knows_that_base_writes_every_domain(tree: Path) -> None:
    write(tree / "records" / "base.py", 'SAVE = "INSERT INTO {table} (id) VALUES (%s)"')
    write(
        tree / "records" / "tasks.py",
        'TASKS = base.Domain(name="task", plural="tasks")',
    )
    code, said = run("one_writer", tree, "-v")
    assert code == 0
    assert "reverie.records.base" in said
    write(tree / "search" / "sneaky.py", 'DONE = "UPDATE task SET done = true"')
    code, said = run("one_writer", tree)
    assert code == 1
    assert (
        "reverie.records.base and reverie.search.sneaky both write the table task"
        in said
    )


def test_one_writer_counts_a_module_and_its_sql_file_once(tree: Path) -> None:
    (tree / "records" / "notes.sql").write_text(
        "UPDATE notes SET heat = 0;", encoding="utf-8"
    )
    assert run("one_writer", tree)[0] == 0


def test_one_writer_leaves_out_prose_locks_upserts_temporary_tables_and_migrations(
    tree: Path,
) -> None:
    write(
        tree / "search" / "fine.py",
        '"""INSERT INTO notes is done elsewhere."""\n'
        'LOCK = "SELECT 1 FROM notes FOR UPDATE"\n'
        'UPSERT = "INSERT INTO terms VALUES (1) ON CONFLICT (id) DO UPDATE SET n = 2"\n'
        'MAKE = "CREATE TEMP TABLE incoming (id int)"\nFILL = "COPY incoming (id) FROM STDIN"\n',
    )
    write(
        tree / "pipeline.py",
        'FILL = "CREATE TEMPORARY TABLE incoming AS SELECT 1"\nMORE = "INSERT INTO incoming VALUES (2)"',
    )
    (tree / "migrations" / "0001.sql").write_text(
        "UPDATE notes SET heat = 0;", encoding="utf-8"
    )
    code, said = run("one_writer", tree, "-v")
    assert code == 0
    assert "incoming" not in said


def test_limits_pass_a_short_module(tree: Path) -> None:
    assert run("limits", tree)[0] == 0


def test_limits_catch_each_fault(tree: Path) -> None:
    write(tree / "long.py", "x = 1\n" * 449)
    write(tree / "function.py", "def f() -> None:\n" + "    print()\n" * 60)
    write(tree / "search" / "utils.py", "x = 1")
    (tree / "search" / "core").mkdir()
    (tree / "bare.py").write_text("x = 1\n", encoding="utf-8")
    code, said = run("limits", tree)
    assert code == 1
    sentences = said.splitlines()
    assert len(sentences) == 5
    assert all("docs/architecture.md" in sentence for sentence in sentences)
    assert "long.py: 452 lines; a module has at most 450" in said
    assert "function.py:3: f has 61 lines; a function has at most 60" in said
    assert "utils.py: the name utils says nothing" in said
    assert "core: the name core says nothing" in said
    assert "bare.py: a module opens with a sentence" in said


def test_limits_allow_exactly_the_limit(tree: Path) -> None:
    write(tree / "long.py", "x = 1\n" * 447)
    write(tree / "function.py", "def f() -> None:\n" + "    print()\n" * 59)
    assert run("limits", tree)[0] == 0
