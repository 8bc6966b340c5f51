"""The public API: complete and documented."""

import inspect
import re

import pytest

import matchbandit as mb

FUNCTIONS = [name for name in mb.__all__ if inspect.isfunction(getattr(mb, name))]


def test_all_is_complete():
    assert dir(mb) == sorted([*mb.__all__, "__version__", "theory"])


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_public_function_documents_its_parameters_and_what_it_returns(name):
    function = getattr(mb, name)
    text = inspect.getdoc(function)
    sections = dict(re.findall(r"^(\w+)\n-{3,}\n(.*?)(?=^\w+\n-{3,}\n|\Z)", text, flags=re.MULTILINE | re.DOTALL))
    for parameter in inspect.signature(function).parameters:
        entry = rf"^\**{parameter}\b|, \**{parameter}\b"
        assert re.search(entry, sections["Parameters"], flags=re.MULTILINE), parameter
    if inspect.signature(function).return_annotation not in (None, "None"):
        assert "Returns" in sections


def test_a_misspelt_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="module 'matchbandit' has no attribute 'simualte'"):
        mb.simualte  # noqa: B018
