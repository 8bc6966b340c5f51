import importlib
from pathlib import Path

import matchbandit.studies
from matchbandit.studies.registry import FILES, entries, figures


def test_every_file_with_an_entry_is_registered_once():
    package = Path(matchbandit.studies.__file__).parent
    with_entry = {file.stem for file in package.glob("*.py") if "\nENTRY = " in file.read_text(encoding="utf-8")}
    assert set(FILES) == with_entry
    assert len(FILES) == len(entries())


def test_studies_of_one_name_are_the_same_study():
    seen = {}
    for entry in entries().values():
        for study in entry.studies(2):
            assert seen.setdefault(study.name, study) == study


def test_runs_are_what_one_asks_for_and_at_least_20_where_a_verdict_rests_on_them():
    for entry in entries().values():
        assert all(study.runs in (2, 4) for study in entry.studies(2))
        assert all(study.runs >= 20 for study in entry.studies(None) if study.name not in entry.beside)
        assert entry.is_of_paper == entry.name.startswith("over-")
        if entry.is_of_paper:
            assert all(study.runs >= 100 for study in entry.studies(None))


def test_nothing_is_computed_when_a_study_is_imported():
    for file in FILES:
        module = importlib.import_module(f"matchbandit.studies.{file}")
        assert not any(isinstance(value, matchbandit.studies.Study) for value in vars(module).values())


def test_by_default_all_but_the_longest_study_are_reproduced():
    assert [figure for figure, entry in figures().items() if not entry.is_default] == ["click-models"]
