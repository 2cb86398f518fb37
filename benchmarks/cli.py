"""The command line: list, run, render."""

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path

from benchmarks import environment, threads
from benchmarks.collect import PARTIAL
from benchmarks.data import MissingDataError
from benchmarks.registry import Benchmark, find_benchmarks
from benchmarks.render import to_markdown
from benchmarks.result import Result

RESULTS = Path(__file__).parent / "results"


def run_command(argv: Sequence[str]) -> int:
    """Run one command line and return its exit status: 0 done, 1 failed, 2 bad usage."""
    benchmarks = find_benchmarks()
    if not argv or argv[0] in ("-h", "--help"):
        print(listing(benchmarks))
        return 0
    name, *rest = argv
    if name == "render":
        return render_command(rest)
    if name not in benchmarks:
        print(f"No benchmark is called {name!r}.\n\n{listing(benchmarks)}", file=sys.stderr)
        return 2
    try:
        written = run_benchmark(benchmarks[name], rest)
    except MissingDataError as error:
        print(error, file=sys.stderr)
        return 1
    for path in written:
        print(path)
    return 0


def listing(benchmarks: dict[str, Benchmark]) -> str:
    """One line for each benchmark, then how to run them."""
    width = max(map(len, benchmarks), default=0)
    lines = [f"{name:<{width}}  {item.summary}" for name, item in benchmarks.items()]
    usage = [
        "",
        "python -m benchmarks NAME [--help | options]    run one",
        "python -m benchmarks render [FILE.json ...]     write the Markdown again from the JSON",
    ]
    return "\n".join(lines + usage)


def make_parser(benchmark: Benchmark) -> argparse.ArgumentParser:
    """Common options, then the benchmark's own, which may also change common defaults."""
    parser = argparse.ArgumentParser(
        prog=f"python -m benchmarks {benchmark.name}",
        description=benchmark.module.__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--folds", type=int, default=10, help="folds of the cross-validation")
    parser.add_argument(
        "--first-folds", type=int, metavar="N", help="only the first N folds, to keep it short"
    )
    parser.add_argument("--repeats", type=int, default=1, help="repetitions with other seeds")
    parser.add_argument("--datasets", nargs="+", help="only these data sets")
    parser.add_argument("--seed", type=int, default=0)
    threads.add_threads_argument(parser)
    parser.add_argument("--out", type=Path, default=RESULTS, help="folder for JSON and Markdown")
    parser.add_argument(
        "--resume",
        action="store_true",
        help="keep what an interrupted run, or one on other data sets, has already measured",
    )
    parser.set_defaults(name=benchmark.name)
    benchmark.module.add_arguments(parser)
    return parser


def run_benchmark(benchmark: Benchmark, argv: Sequence[str]) -> list[Path]:
    """Run one benchmark and write its JSON and Markdown."""
    args = make_parser(benchmark).parse_args(argv)
    args.out.mkdir(parents=True, exist_ok=True)
    with threads.limit(args.threads):
        result: Result = benchmark.module.run(args)
        described = environment.describe(args.threads)
    content = {
        "name": benchmark.name,
        "title": benchmark.summary,
        "question": benchmark.question,
        "conclusion": benchmark.conclusion,
        "command": environment.command_line([benchmark.name, *argv]),
        "environment": described,
        **result.to_dict(),
    }
    target = args.out / f"{benchmark.name}.json"
    target.write_text(json.dumps(content, indent=1, ensure_ascii=False) + "\n")
    (args.out / f"{benchmark.name}{PARTIAL}").unlink(missing_ok=True)
    return [target, render_file(target)]


def render_command(paths: Sequence[str]) -> int:
    """Write the Markdown of the named JSON files, or of all in the results folder."""
    for path in map(Path, paths or sorted(map(str, RESULTS.glob("*.json")))):
        print(render_file(path))
    return 0


def render_file(path: Path) -> Path:
    """Write the Markdown page of one JSON result next to it."""
    page = path.with_suffix(".md")
    page.write_text(to_markdown(json.loads(path.read_text())))
    return page
