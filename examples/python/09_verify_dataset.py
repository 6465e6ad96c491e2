"""Judges a data set of kernels: Parquet in, Parquet out.

The input has the columns task (the text of a task, or its path or name), code and target. The output is a directory of
Parquet files, which pandas.read_parquet() and pyarrow read as one table. Rows that it has already are not judged again,
so a run that was stopped goes on. A row that the machine failed to judge is left out, and the next run tries it.

    pip install pyarrow
    python 09_verify_dataset.py IN.parquet OUT_DIRECTORY [full|quick|correctness_only] [AT_ONCE]
"""

import asyncio
import sys
from pathlib import Path
from typing import Any

import kernelgen
import pyarrow as pa
import pyarrow.parquet as pq

COLUMNS, SPEEDUP = ["task", "code", "target"], ["speedup", "speedup_low", "speedup_high"]
SCHEMA = pa.schema([(name, pa.float64() if name in SPEEDUP else pa.string())
                    for name in [*COLUMNS, "mode", "outcome", "message", *SPEEDUP, "record"]])
ROWS_PER_FILE = 64
# Others are failures of the machine, and no fault of the row.
FAULTS_OF_THE_ROW = (kernelgen.InvalidArgument, kernelgen.InvalidTask, kernelgen.NotFound)
Row = dict[str, Any]


def row_of(row: Row, mode: str, record: kernelgen.EvaluationRecord) -> Row:
    verdict: Row = {"mode": mode, "outcome": record.outcome.name, "message": record.outcome.message, "record": record.to_json()}
    if record.score is not None and record.timing is not None:
        # The score is the ratio of the times on the device alone where there is one.
        ratio = record.timing.speedup_device or record.timing.speedup_call
        verdict |= dict(zip(SPEEDUP, (ratio.value, ratio.low, ratio.high)))
    return {**row, **verdict}


async def judge_row(judge: kernelgen.Benchmarker, row: Row, mode: str) -> Row | None:
    """The row with its verdict; None where the machine failed."""
    text = row["task"]
    try:
        task = kernelgen.Task("row", text) if "\n" in text else kernelgen.load_task(text)
        candidate = kernelgen.Candidate(row["code"], row["target"])
        record = await judge.evaluate_async(task, candidate, kernelgen.EvaluationOptions(mode=mode))
    except FAULTS_OF_THE_ROW as error:
        return {**row, "mode": mode, "outcome": f"error:{error.code}", "message": str(error)}
    except (kernelgen.Unavailable, kernelgen.Timeout) as error:
        print(f"not judged: {error}", file=sys.stderr)
        return None
    return None if record.outcome.could_not_be_measured else row_of(row, mode, record)


def identity(row: Row, mode: str) -> tuple[str, ...]:
    return (*[row[name] for name in COLUMNS], mode)


async def verify(judge: kernelgen.Benchmarker, source: str, directory: Path, mode: str, at_once: int) -> int:
    """Judges what is missing. Returns the number of rows without a verdict."""
    directory.mkdir(parents=True, exist_ok=True)
    files = sorted(directory.glob("part-*.parquet"))
    done = {identity(row, row["mode"]) for file in files for row in pq.read_table(file).to_pylist()}
    room, missing = asyncio.Semaphore(at_once), 0

    async def judge_in_turn(row: Row) -> Row | None:
        async with room:
            return await judge_row(judge, row, mode)

    for batch in pq.ParquetFile(source).iter_batches(ROWS_PER_FILE, columns=COLUMNS):
        rows = [{name: value or "" for name, value in row.items()} for row in batch.to_pylist()]
        new = {identity(row, mode): row for row in rows if identity(row, mode) not in done}
        results = await asyncio.gather(*[judge_in_turn(row) for row in new.values()])
        verdicts = [result for result in results if result is not None]
        missing += len(results) - len(verdicts)
        done.update(identity(row, mode) for row in verdicts)
        if verdicts:
            # A file gets its name once it is whole. Readers of a directory skip names with a dot.
            pq.write_table(pa.Table.from_pylist(verdicts, SCHEMA), directory / ".unfinished")
            files.append((directory / ".unfinished").rename(directory / f"part-{len(files):06}.parquet"))
    return missing


def main(source: str, directory: str, mode: str = "full", at_once: str = "8") -> int:
    with kernelgen.open_local_judge() as judge:
        missing = asyncio.run(verify(judge, source, Path(directory), mode, int(at_once)))
    print(pq.read_table(directory, columns=["outcome"]).column("outcome").value_counts().to_pylist())
    return 0 if missing == 0 else 75


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:5]))
