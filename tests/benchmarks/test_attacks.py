"""The table of attacks counts what pytest's report says, and nothing that did not run."""

from benchmarks.tables.attacks import findings, read_report, table

REPORT = """<testsuites><testsuite>
<testcase classname="tests.attacks.test_threads" name="a" time="1.5">
<properties><property name="attempts" value="20"/><property name="held" value="19"/></properties>
<failure message="one"/></testcase>
<testcase classname="tests.attacks.test_threads" name="b" time="0.5">
<properties><property name="attempts" value="7"/></properties></testcase>
<testcase classname="tests.attacks.test_files" name="c" time="1"><error message="no"/></testcase>
<testcase classname="tests.attacks.test_files" name="d" time="1"><skipped/></testcase>
</testsuite></testsuites>"""


def test_attempts_and_survivors(tmp_path):
    path = tmp_path / "report.xml"
    path.write_text(REPORT)
    records = read_report(path)
    assert [(r["attempts"], r["held"]) for r in records] == [(20, 19), (7, 7), (1, 0)]
    files, threads = table(records).rows
    assert files[1:] == [1, 1, 0, 1.0]
    assert threads[0].startswith("Many threads at once")
    assert threads[1:] == [2, 27, 26, 2.0]
    total, *failed = findings(records)
    assert total == "26 of 28 attempts in 3 tests held."
    assert failed == ["`a`: 19 of 20 held.", "`c`: 0 of 1 held."]
