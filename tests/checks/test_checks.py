"""A check that never fails is worth nothing: each is shown the fault it is for."""

import importlib
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
    write(tree / "long.py", "x = 1\n" * 499)
    write(tree / "function.py", "def f() -> None:\n" + "    print()\n" * 60)
    write(tree / "search" / "utils.py", "x = 1")
    (tree / "search" / "core").mkdir()
    (tree / "bare.py").write_text("x = 1\n", encoding="utf-8")
    code, said = run("limits", tree)
    assert code == 1
    sentences = said.splitlines()
    assert len(sentences) == 5
    assert all("docs/architecture.md" in sentence for sentence in sentences)
    assert "long.py: 502 lines; a module has at most 500" in said
    assert "function.py:3: f has 61 lines; a function has at most 60" in said
    assert "utils.py: the name utils says nothing" in said
    assert "core: the name core says nothing" in said
    assert "bare.py: a module opens with a sentence" in said


def test_limits_allow_exactly_the_limit(tree: Path) -> None:
    write(tree / "long.py", "x = 1\n" * 497)
    write(tree / "function.py", "def f() -> None:\n" + "    print()\n" * 59)
    assert run("limits", tree)[0] == 0


def test_limits_catch_a_loop_over_one_and_twin_classes(tree: Path) -> None:
    write(tree / "loop.py", "for one in range(3):\n    print(one)")
    write(tree / "comprehension.py", "X = {n: one for n, one in enumerate('ab')}")
    write(tree / "records" / "page.py", "class Page:\n    pass\nclass _Row:\n    pass")
    write(tree / "search" / "page.py", "class Page:\n    pass\nclass _Row:\n    pass")
    code, said = run("limits", tree)
    assert code == 1
    assert len(said.splitlines()) == 3
    assert "loop.py:3: a loop over `one`" in said
    assert "comprehension.py:3: a loop over `one`" in said
    assert "records/page.py:3 and search/page.py:3: public classes called Page" in said


def test_density_passes_plain_functions(tree: Path) -> None:
    code, said = run("density", tree)
    assert code == 0
    assert "0 of 0 functions above complexity 10" in said


@pytest.mark.parametrize(
    "body",
    [
        "    return " + " and ".join("a" for _ in range(16)),
        "    return " + "1 if a else " * 15 + "0",
        "    return [" + "a " + "for a in a " * 15 + "]",
        "    if a:\n        pass\n" * 15,
        "    def inner(a: int) -> int:\n        return " + "a or " * 14 + "a\n"
        "    return inner(a) if a else 0",
    ],
    ids=["operators", "ternaries", "comprehension", "branches", "nested"],
)
def test_density_counts_what_a_line_hides(tree: Path, body: str) -> None:
    write(tree / "search" / "dense.py", f"def f(a: int) -> object:\n{body}")
    code, said = run("density", tree)
    assert code == 1
    assert "search/dense.py:3: f has complexity 16; at most 15" in said


def test_density_counts_how_many_functions_are_complex(tree: Path) -> None:
    eleven = "    return " + " and ".join("a" for _ in range(11))
    plain = "\n".join(f"def g{n}(a: int) -> int:\n    return a" for n in range(40))
    write(tree / "search" / "plain.py", plain)
    write(tree / "search" / "first.py", f"def f(a: int) -> object:\n{eleven}")
    assert run("density", tree)[0] == 0
    write(tree / "search" / "second.py", f"def f(a: int) -> object:\n{eleven}")
    code, said = run("density", tree)
    assert code == 1
    assert "2 of 42 functions have complexity above 10; at most 3% may" in said


def test_density_counts_nodes_a_line_of_a_package(tree: Path) -> None:
    line = "    a(b, c, d(e, f, g(h, i)), j)\n"
    data = "WORDS = (" + '"a", ' * 9 + ")\n"
    write(tree / "search" / "words.py", data * 40)
    assert run("density", tree)[0] == 0
    write(tree / "search" / "dense.py", "def f() -> None:\n" + line * 40)
    code, said = run("density", tree)
    assert code == 1
    assert "search: " in said
    assert "syntax nodes a line; at most 8.5" in said


def test_density_has_few_exceptions() -> None:
    sys.path.insert(0, str(CHECKS))
    try:
        density = importlib.import_module("density")
    finally:
        sys.path.remove(str(CHECKS))
    assert len(density.EXCEPTIONS) <= 5


def test_cycles_count_imports_by_name(tree: Path) -> None:
    write(tree / "records" / "a.py", "from reverie.search import b")
    write(tree / "search" / "b.py", "from reverie.search import c")
    write(tree / "search" / "c.py", "X = 1")
    for folder in ("records", "search"):
        (tree / folder / "__init__.py").write_text("", encoding="utf-8")
    assert run("cycles", tree)[0] == 0
    write(
        tree / "search" / "c.py",
        "import importlib\ndef f() -> object:\n"
        "    return importlib.import_module('reverie.records.a')",
    )
    code, said = run("cycles", tree)
    assert code == 1
    assert "reverie.records.a, reverie.search.b, reverie.search.c import each" in said


def test_the_newcomer_wants_19_answers_of_20(tree: Path) -> None:
    code, said = run("newcomer", tree)
    assert code == 1
    assert "0 of 20 questions lead to the right file" in said
    assert "`bm25` leads to nothing, and not to search/lexical.py" in said
