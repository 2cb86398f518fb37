"""The table of attacks counts what pytest's report says, and nothing that did not run."""

from benchmarks.tables.attacks import findings, read_report, table


def case(name: str, counts: dict[str, float], inside: str = "") -> str:
    listed = "".join(f'<property name="{n}" value="{v}"/>' for n, v in counts.items())
    file, test = name.split(".")
    return (
        f'<testcase classname="tests.attacks.{file}" name="{test}" time="1.5">'
        f"<properties>{listed}</properties>{inside}</testcase>"
    )


REPORT = [
    case("test_threads.a", {"attempts": 20, "answered": 19, "seconds": 2.5}, "<failure/>"),
    case("test_threads.b", {"attempts": 7, "answered": 4, "flagged": 2, "refused": 1}),
    case("test_threads.short", {"seconds": 9.0}),
    case("test_files.c", {"seconds": 1.0}, "<error/>"),
    case("test_files.d", {"attempts": 9}, "<skipped/>"),
    case("test_files.e", {"attempts": 5, "refused": 5, "seconds": 1.0}, "<failure/>"),
]


def test_attempts_and_how_they_ended(tmp_path):
    path = tmp_path / "report.xml"
    path.write_text(f"<testsuites><testsuite>{''.join(REPORT)}</testsuite></testsuites>")
    records = read_report(path)
    assert [(r["attempts"], r["failed"]) for r in records] == [(20, 1), (7, 0), (1, 1), (5, 1)]
    files, threads = table(records).rows
    assert files[1:] == [6, 0, 0, 4, 2, 2.0]
    assert threads[0].startswith("Many threads at once")
    assert threads[1:] == [27, 23, 2, 1, 1, 4.0]
    total, *failed = findings(records)
    assert total.startswith("Of 33 attempts 23 were answered as promised, 2 with an estimate")
    assert total.endswith("5 were refused where they should be, and 3 failed.")
    assert failed == [
        "`a`: 1 of 20 failed.", "`c`: 1 of 1 failed.", "`e`: 1 of 5 failed."
    ]  # fmt: skip
