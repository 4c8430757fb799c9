"""Import without a workflow: files one after another, with a report; a bad file or item
never stops the rest.
"""

from collections.abc import Callable, Sequence

from reverie.ingest import ingest_file, report, scan


async def run(
    desk: ingest_file.Context,
    files: Sequence[scan.ScannedFile],
    *,
    progress: Callable[[int, report.FileReport], None],
) -> report.Report:
    """Take in files, and those inside them, and tell `progress` after each (how many
    are done, what became of it).

    What is done is kept when it is stopped, and a second run goes on from there. Raises
    Unavailable, DiskFull.
    """
    whole = report.Report()
    waiting = list(reversed(files))
    while waiting:
        taken = await ingest_file.take(desk, waiting.pop())
        waiting += reversed(taken.inside)
        whole.files.append(taken.result)
        progress(len(whole.files), taken.result)
    return whole
