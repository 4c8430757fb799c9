"""Import without a workflow: files one after another, with a report.

A bad file or item never stops the rest.
"""

from collections.abc import Callable, Sequence

from reverie.ingest import ingest_file, report, scan


async def run(
    context: ingest_file.Context,
    files: Sequence[scan.ScannedFile],
    *,
    progress: Callable[[int, report.FileReport], None],
) -> report.Report:
    """Ingest files, and those inside them, and tell `progress` after each (how many
    are done, what became of it).

    What is done is kept when it is stopped, and a second run goes on from there. Raises
    Unavailable, DiskFull.
    """
    done = report.Report()
    waiting = list(reversed(files))
    while waiting:
        outcome = await ingest_file.take(context, waiting.pop())
        waiting += reversed(outcome.inside)
        done.files.append(outcome.result)
        progress(len(done.files), outcome.result)
    return done
