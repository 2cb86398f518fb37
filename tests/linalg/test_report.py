"""A report can be read."""

from pinvlearn import Report


def test_reports_can_be_read():
    report = Report("gram", "tall", passes=1, error=0.25, seconds={"eigen": 0.5}, notes=("first",))
    assert str(report) == "gram: tall (1 pass; error estimate 0.25; eigen 0.5 s)\n  note: first"
    more = report.with_notes("second")
    assert more.notes == ("first", "second")
    assert report.notes == ("first",)
