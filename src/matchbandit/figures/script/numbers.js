/* Numbers as text, and round places for ticks. */

const SUPERSCRIPTS = { "-": "⁻", 0: "⁰", 1: "¹", 2: "²", 3: "³", 4: "⁴", 5: "⁵", 6: "⁶", 7: "⁷", 8: "⁸", 9: "⁹" };
const SEPARATOR = ","; // between groups of three digits

function powerOfTen(mantissa, exponent) {
  const power = "10" + String(exponent).replace(/./g, (sign) => SUPERSCRIPTS[sign]);
  return mantissa === 1 ? power : trimmed(mantissa, 3) + "·" + power;
}

function trimmed(value, digits) {
  return String(Number(value.toPrecision(digits))).replace("-", "−");
}

/** A value in a tooltip: groups of three digits, four digits that count. */
function spelled(value) {
  if (value === null || !Number.isFinite(value)) return "–";
  const size = Math.abs(value);
  if (size !== 0 && (size < 1e-4 || size >= 1e13)) {
    const exponent = Math.floor(Math.log10(size));
    return powerOfTen(Number((value / 10 ** exponent).toPrecision(4)), exponent);
  }
  if (size < 1000) return trimmed(value, 4);
  return String(Math.round(value))
    .replace("-", "−")
    .replace(/\B(?=(\d{3})+$)/g, SEPARATOR);
}

/** The numbers at the ticks of an axis, short and in one manner. */
function shortly(values, log) {
  const largest = Math.max(...values.map(Math.abs)),
    smallest = Math.min(...values.map(Math.abs).filter(Boolean));
  const asPower = (value) => {
    const exponent = Math.floor(Math.log10(Math.abs(value)) + 1e-9);
    return value === 0 ? "0" : powerOfTen(Number((value / 10 ** exponent).toPrecision(3)), exponent);
  };
  if (log) {
    const plain = largest < 1e5 && smallest >= 1e-3;
    return values.map((value) => (plain || (value >= 0.01 && value < 1e4) ? spelled(value) : asPower(value)));
  }
  if (largest >= 1e9 || largest < 1e-3) return values.map(asPower);
  const [size, unit] = largest >= 1e6 ? [1e6, "M"] : largest >= 1e4 ? [1e3, "k"] : [1, ""];
  if (!unit) return values.map(spelled);
  return values.map((value) => (value === 0 ? "0" : trimmed(value / size, 4) + "\u202f" + unit));
}

/** Round places between low and high, at most `most` of them. */
function roundPlaces(low, high, most) {
  const least = (high - low) / Math.max(most, 1);
  const base = 10 ** Math.floor(Math.log10(least));
  const step = [1, 2, 5, 10].find((times) => times * base >= least * 0.999) * base;
  const places = [];
  for (let k = Math.ceil(low / step - 1e-6); k * step <= high + step * 1e-6; k += 1)
    places.push(Number((k * step).toPrecision(12)));
  return places;
}

/** Places on a logarithmic axis between low and high, both logarithms; given as values. */
function logPlaces(low, high, most) {
  const first = Math.ceil(low - 1e-9),
    last = Math.floor(high + 1e-9);
  if (last - first >= 2) {
    const places = [];
    const every = Math.ceil((last - first + 1) / Math.max(most, 2));
    for (let power = first; power <= last; power += every) places.push(10 ** power);
    return places;
  }
  for (const mantissas of [
    [1, 2, 5],
    [1, 1.5, 2, 3, 4, 5, 6, 7, 8, 9],
  ]) {
    const places = [];
    for (let power = Math.floor(low); power <= last; power += 1) {
      for (const times of mantissas) {
        const at = Math.log10(times) + power;
        if (at >= low - 1e-9 && at <= high + 1e-9) places.push(Number((times * 10 ** power).toPrecision(6)));
      }
    }
    if (places.length >= 3 && places.length <= most) return places;
    if (places.length > most) return places.filter((_, k) => k % Math.ceil(places.length / most) === 0);
  }
  return roundPlaces(10 ** low, 10 ** high, Math.min(most, 4)).filter((value) => value > 0);
}
