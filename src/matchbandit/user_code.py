"""Load user-defined policies and families by name: `module:Class`, `module:function`."""

import sys
import sysconfig
from importlib import import_module, invalidate_caches
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import Any

from matchbandit.errors import MatchbanditError, unknown

MAIN = "__main__"


class UserCodeError(MatchbanditError):
    """User-defined code has failed; what it raised is the cause."""


def is_user_defined(name: object) -> bool:
    """Does this name user-defined code, `module:name`, rather than something that the library knows?"""
    return isinstance(name, str) and ":" in name


def module_of(name: str) -> str:
    """The module in `module:name`."""
    return name.partition(":")[0]


def load_object(name: str, what: str, *, folder: Path | None = None) -> Any:
    """The class or function that `module:name` names, or an error that says what is missing.

    The module is looked for in `folder` if one is given, then in the current folder, then among what is installed;
    `__main__` is the running script or notebook.

    >>> load_object("math:sqrt", "a function")(4.0)
    2.0
    """
    module_name, _, attribute = name.partition(":")
    parts = attribute.split(".")
    if not all(part.isidentifier() for part in [*module_name.split("."), *parts]):
        raise MatchbanditError(f"{what} of your own is named module:name, such as my_code:MyName; got {name!r}.")
    value: Any = _import(module_name, folder)
    for part in parts:
        if not hasattr(value, part):
            names = [each for each, item in vars(value).items() if getattr(item, "__module__", None) == module_name]
            raise unknown(f"name in the module {module_name}", attribute, names)
        value = getattr(value, part)
    return value


def import_name(thing: Any, what: str) -> str:
    """`module:name` of a class or function, from which `load_object` loads it again."""
    name = f"{thing.__module__}:{thing.__qualname__}"
    if "<" in name:  # <locals>, <lambda>
        raise MatchbanditError(
            f"{what} {thing.__name__} is defined inside a function, where it cannot be loaded by name. "
            f"Move it to the top of its module."
        )
    if load_object(name, what) is not thing:
        raise MatchbanditError(f"{name} has been redefined since this {thing.__name__} was made. Pass the new one.")
    return name


def _import(name: str, folder: Path | None) -> ModuleType:
    places = [place.resolve() for place in ([] if folder is None else [folder]) + [Path.cwd()]]
    if name in sys.modules:
        _refuse_namesake(sys.modules[name], name, places[0] if folder is not None else None)
        return sys.modules[name]
    before = list(sys.path)
    sys.path[:0] = [str(place) for place in places]
    invalidate_caches()  # the file may be newer than the cached listing of its folder
    try:
        if not _exists(name):
            raise _no_module(name, places, named=folder is not None)
        return import_module(name)
    except MatchbanditError:
        raise
    except ModuleNotFoundError as missing:
        raise MatchbanditError(f"the module {name} needs {missing.name}, which is not installed.") from None
    except (Exception, SystemExit) as error:
        raise UserCodeError(f"the module {name} cannot be imported: {summarize_error(error, name)}.") from error
    finally:
        # What it imports later, and new worker processes, need the folders as well.
        sys.path[:] = before + [str(place) for place in places if str(place) not in before]


def _exists(name: str) -> bool:
    """Is there such a module? Of `a.b`, `a` is imported to know."""
    try:
        return find_spec(name) is not None
    except ModuleNotFoundError as missing:
        if missing.name is not None and (name == missing.name or name.startswith(f"{missing.name}.")):
            return False
        raise
    except ValueError:  # a module without a specification, such as one made by hand
        return False


def _no_module(name: str, places: list[Path], *, named: bool) -> MatchbanditError:
    near = sorted({file.stem for place in places for file in place.glob("*.py") if file.stem.isidentifier()})
    where = "beside the study's file, in the current folder" if named else "in the current folder"
    message = str(unknown("module", name, near)).partition(" Known:")[0].partition(" None exist")[0].rstrip(".")
    return MatchbanditError(f"{message}{'' if message.endswith('?') else ';'} it is neither {where} nor installed.")


def _refuse_namesake(module: ModuleType, name: str, folder: Path | None) -> None:
    """Refuse a module that was imported from elsewhere, when the folder has one of the same name."""
    if folder is None or name == MAIN:
        return
    here = folder.joinpath(*name.split("."))
    wanted = [file for file in (here.with_suffix(".py"), here / "__init__.py") if file.is_file()]
    loaded = getattr(module, "__file__", None)
    if wanted and (loaded is None or Path(loaded).resolve() != wanted[0].resolve()):
        raise MatchbanditError(
            f"the module {name} is imported already, from {loaded or 'Python itself'}, and {wanted[0]} has the same "
            f"name. Rename it, or restart Python."
        )


def summarize_error(error: BaseException, *modules: str) -> str:
    """Describe an error of user-defined code in one line, with the innermost line in these modules or in user files.

    Lines in installed packages that the code calls, such as NumPy, are skipped.
    """
    place, last = "", error.__traceback__
    tops = {name.partition(".")[0] for name in modules}
    while last is not None:
        file = last.tb_frame.f_code.co_filename
        is_theirs = str(last.tb_frame.f_globals.get("__name__")).partition(".")[0] in tops
        if not file.startswith("<") and (is_theirs or not _is_library_file(Path(file))):
            place = f" ({Path(file).name}, line {last.tb_lineno})"
        last = last.tb_next
    if isinstance(error, SyntaxError) and error.filename:
        place = f" ({Path(error.filename).name}, line {error.lineno})"
    message = (error.msg if isinstance(error, SyntaxError) else str(error)).partition("\n")[0].rstrip(".")
    return f"{type(error).__name__}{': ' if message else ''}{message}{place}"


def is_installed(folder: Path) -> bool:
    """Is this a folder of the standard library or of installed packages?"""
    places = [Path(sysconfig.get_path(name)).resolve() for name in ("stdlib", "purelib", "platlib")]
    return any(folder == place or place in folder.parents for place in places)


def _is_library_file(file: Path) -> bool:
    """Is this a file of matchbandit or of an installed package?"""
    folder = file.resolve().parent
    ours = Path(__file__).resolve().parent
    return ours in (folder, *folder.parents) or is_installed(folder)
