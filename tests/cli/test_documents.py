"""Documents by the commands: a PDF is found by its page, a folder is watched, a
password is asked for.
"""

import signal
import time
from pathlib import Path

import psycopg
import pytest

from reverie import embedded
from tests.cli.conftest import Home, wait_until
from tests.conftest import DATA
from tests.ingest import pdfs

PAGES = (
    "The garden shed is painted green, and the key hangs on the inner wall.",
    "Sharpen the scythe in April, before the grass is higher than a knee.",
)

LEFT = """
INSERT INTO ingestion (user_id, id, kind, request, print, state, reason)
SELECT user_id, gen_random_uuid(), 'paths', '{"paths": ["/nowhere"]}', 'x', 'running', 'waits: no room' FROM users
"""


def given(home: Home, name: str, data: bytes) -> Path:
    path = home.given / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    return path


def test_a_pdf_is_found_with_its_page(warm_home: Home) -> None:
    pdf = given(
        warm_home, "pdfs/garden.pdf", pdfs.built([pdfs.drawn([text]) for text in PAGES])
    )
    broken = given(warm_home, "pdfs/broken.pdf", b"%PDF-1.7 and nothing more")
    told = warm_home.run("import", pdf.parent)
    assert "1 imported" in told.stdout
    assert "broken.pdf" in told.stdout
    found = warm_home.run("search", "scythe")
    assert "garden.pdf" in found.stdout
    assert "page 2" in found.stdout
    hit = warm_home.json("search", "scythe")["results"][0]
    assert hit["passages"][0]["place"]["page"] == 2
    again = warm_home.json("import", pdf.parent)
    assert (again["imported"], again["unchanged"], again["failed"]) == (0, 1, 1)
    broken.write_bytes(pdf.read_bytes().replace(b"scythe", b"sickle"))
    assert warm_home.json("import", pdf.parent)["imported"] == 1


def test_an_encrypted_document_asks_for_its_password(warm_home: Home) -> None:
    path = DATA / "formats-docling" / "pdf_password" / "sources" / "2206.01062_pg3.pdf"
    if not path.exists():
        pytest.skip(f"the shared test data is not at {DATA}")
    assert "password" in warm_home.run("import", path).stdout
    assert "password" in warm_home.run("import", path, "--password", "wrong").stdout
    assert warm_home.json("import", path, "--password", "1234")["imported"] == 1


def test_a_folder_is_watched_until_ctrl_c(home: Home) -> None:
    home.run("search", "x")  # the cluster is made
    given(home, "watched/first.md", b"# First\n\nabout kites\n")
    process = home.start("watch", home.given / "watched")
    wait_until(lambda: "First" in home.run("search", "kites").stdout)
    given(home, "watched/second.md", b"# Second\n\nabout balloons\n")
    wait_until(lambda: "Second" in home.run("search", "balloons").stdout)
    (home.given / "watched" / "first.md").unlink()
    wait_until(lambda: "First" not in home.run("search", "kites").stdout)
    began = time.monotonic()
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=90)
    assert process.returncode == 0, err
    assert time.monotonic() - began < 60
    assert "Watching" in err
    assert "1 imported" in out
    assert "Traceback" not in out + err


def test_doctor_tells_of_what_was_left_undone(warm_home: Home) -> None:
    assert "taking in" not in warm_home.run("doctor").stdout
    server = embedded.acquire(warm_home.path)
    try:
        with psycopg.connect(server.owner_url) as connection:
            connection.execute("ALTER TABLE ingestion NO FORCE ROW LEVEL SECURITY")
            connection.execute("ALTER TABLE users NO FORCE ROW LEVEL SECURITY")
            connection.execute(LEFT)
            connection.execute("ALTER TABLE ingestion FORCE ROW LEVEL SECURITY")
            connection.execute("ALTER TABLE users FORCE ROW LEVEL SECURITY")
        assert (
            "taking in: 1 under way, which waits: no room"
            in warm_home.run("doctor").stdout
        )
    finally:
        server.release()
