"""Numbers, counts and durations as text, alike in messages, tables, charts and pages."""

from math import floor, isfinite, log10

_SUPERSCRIPTS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


def grouped(value: float) -> str:
    """Format a number with commas between groups of three digits and no trailing zeros.

    >>> grouped(1234567), grouped(1234.5), grouped(-20)
    ('1,234,567', '1,234.5', '−20')
    """
    return f"{value:,.6f}".rstrip("0").rstrip(".").replace("-", "−")


def fixed(value: float, decimals: int = 1) -> str:
    """Format a number with commas and this number of decimals, for columns of a table; a dash if not finite.

    >>> fixed(1234.56), fixed(-2, 2), fixed(1e6, 0), fixed(float("nan"))
    ('1,234.6', '−2.00', '1,000,000', '–')
    """
    return f"{value:,.{decimals}f}".replace("-", "−") if isfinite(value) else "–"


def short(value: float) -> str:
    """Format a number with four significant digits; a power of ten where it is huge or tiny, a dash if not finite.

    >>> [short(x) for x in (0, 0.25, 1234.56, 20_000, 1e6, 2.5e7, 0.00012, float("nan"))]
    ['0', '0.25', '1,235', '20,000', '10⁶', '2.5·10⁷', '1.2·10⁻⁴', '–']
    """
    if not isfinite(value):
        return "–"
    rounded = float(f"{value:.4g}")
    if rounded == 0:
        return "0"
    if abs(rounded) >= 1e6 or abs(rounded) < 1e-3:
        return power_of_ten(rounded, floor(log10(abs(rounded)) + 1e-12))
    return grouped(rounded)


def power_of_ten(value: float, exponent: int) -> str:
    """Format a number as a multiple of a power of ten.

    >>> power_of_ten(2.5e6, 6), power_of_ten(1e-4, -4), power_of_ten(5e5, 6)
    ('2.5·10⁶', '10⁻⁴', '0.5·10⁶')
    """
    if value == 0:
        return "0"
    power = f"10{str(exponent).translate(_SUPERSCRIPTS)}"
    factor = f"{value / 10.0**exponent:.4g}".replace("-", "−")
    return power if factor == "1" else f"−{power}" if factor == "−1" else f"{factor}·{power}"


def plural(number: int, noun: str) -> str:
    """Format a count with its noun.

    >>> plural(1, "run"), plural(2000, "run")
    ('1 run', '2,000 runs')
    """
    return f"{grouped(number)} {noun}{'' if number == 1 else 's'}"


def duration(seconds: float) -> str:
    """Format a time in the unit that suits it.

    >>> duration(0.004), duration(12.3), duration(150), duration(72_000), duration(3e9)
    ('0.004 s', '12.3 s', '2.5 min', '20 h', '95 years')
    """
    for unit, size, limit in (("s", 1, 100), ("min", 60, 6000), ("h", 3600, 360_000), ("days", 86_400, 86_400_000)):
        if seconds < limit:
            return f"{seconds / size:.3g} {unit}"
    return f"{short(float(f'{seconds / 31_557_600:.2g}'))} years"


def byte_size(size: float) -> str:
    """Format a number of bytes in the unit that suits it.

    >>> byte_size(800), byte_size(2_500_000), byte_size(4e9), byte_size(8e15)
    ('800 bytes', '2.5 MB', '4 GB', '8,000 TB')
    """
    for unit, scale in (("kB", 1e3), ("MB", 1e6), ("GB", 1e9)):
        if size < 1000 * scale:
            return f"{grouped(size)} bytes" if size < 1e3 else f"{size / scale:.3g} {unit}"
    return f"{short(size / 1e12)} TB"


def float_text(number: float) -> str:
    """The shortest text that reads back as the same number: the one to show where it may be sent back.

    >>> float_text(0.987654321), float_text(1.0), float_text(-1e-07)
    ('0.987654321', '1', '-1e-07')
    """
    return repr(float(number)).removesuffix(".0")
