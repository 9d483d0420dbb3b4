# SPDX-License-Identifier: GPL-2.0
"""Draws plots as SVG, with the standard library alone."""

MB = 1 << 20
WIDTH, LEFT, RIGHT = 900, 70, 24
TOP, HEIGHT = 64, 330           # of the memory
GAP, LOWER = 64, 110            # of the steps, below
COLOURS = {"used": "#7a8ca3", "lent": "#e08e45", "spare": "#f3d3ad", "free": "#ffffff",
           "alone": "#7a8ca3", "lending": "#c0392b"}
LINES = ("#c0392b", "#2980b9", "#16a085", "#8e44ad", "#e08e45", "#7a8ca3")


def nice(most, parts):
    """A round interval that gives about so many ticks."""
    unit = 1
    while True:
        for factor in (1, 2, 5):
            if most / (unit * factor) <= parts:
                return unit * factor
        unit *= 10


class Axes:
    """A rectangle of the picture with its axes."""

    # pylint: disable=too-many-arguments
    def __init__(self, first, last, most, top, height, left=LEFT, right=WIDTH - RIGHT):
        self.first, self.last, self.most = first, last, most
        self.top, self.height, self.left, self.right = top, height, left, right

    def at_x(self, seconds):
        part = (seconds - self.first) / (self.last - self.first)
        return self.left + part * (self.right - self.left)

    def at_y(self, value):
        return self.top + self.height - min(value, self.most) / self.most * self.height

    def area(self, points, colour):
        """points: (seconds, low, high)"""
        line = [(x, high) for x, _, high in points] + [(x, low) for x, low, _ in reversed(points)]
        path = " ".join(f"{self.at_x(x):.1f},{self.at_y(y):.1f}" for x, y in line)
        return f'<polygon points="{path}" fill="{colour}"/>'

    def line(self, points, colour, style=""):
        path = " ".join(f"{self.at_x(x):.1f},{self.at_y(y):.1f}" for x, y in points)
        return f'<polyline points="{path}" fill="none" stroke="{colour}" {style}/>'

    def ticks_up(self):
        step = nice(self.most, self.height // 50)
        return [(value, str(value)) for value in range(0, int(self.most) + 1, step)]

    def ticks_across(self):
        step = nice(self.last - self.first, (self.right - self.left) // 65)
        return [(value, str(value))
                for value in range(int(-(-self.first // step) * step), int(self.last) + 1, step)]

    def frame(self, label, across=None, up=None):
        """across, up: [(value, text)] where the ticks are not whole numbers"""
        bottom, left = self.top + self.height, self.left
        yield (f'<rect x="{left}" y="{self.top}" width="{self.right - left}" height="{self.height}"'
               ' fill="none" stroke="#333"/>')
        for value, text in up or self.ticks_up():
            y = self.at_y(value)
            yield f'<path d="M{left - 5} {y:.1f}h5" stroke="#333"/>'
            yield f'<text x="{left - 8}" y="{y + 4:.1f}" text-anchor="end">{text}</text>'
        for value, text in across or self.ticks_across():
            x = self.at_x(value)
            yield f'<path d="M{x:.1f} {bottom}v5" stroke="#333"/>'
            yield f'<text x="{x:.1f}" y="{bottom + 18}" text-anchor="middle">{text}</text>'
        x, middle = left - 52, self.top + self.height / 2
        if label:
            yield (f'<text x="{x}" y="{middle}" text-anchor="middle"'
                   f' transform="rotate(-90 {x} {middle})">{label}</text>')


def legend(entries, y):
    x = LEFT
    for text, colour in entries:
        yield (f'<rect x="{x}" y="{y - 10}" width="12" height="12" fill="{colour}"'
               ' stroke="#333" stroke-width="0.5"/>')
        yield f'<text x="{x + 17}" y="{y}">{text}</text>'
        x += 30 + 7 * len(text)


def memory(samples, lending, alone):
    """The SVG: the lender's memory over time, and below how long the program's steps took."""
    first, last = samples[0]["seconds"], samples[-1]["seconds"]
    total = samples[0]["total"] / MB
    axes = Axes(first, last, total, TOP, HEIGHT)
    layers = {"used": [], "spare": [], "lent": []}
    keep, half = [], []
    for sample in samples:
        x = sample["seconds"]
        used = total - (sample["available"] + sample["held"]) / MB
        lent, held = sample["lent"] / MB, sample["held"] / MB
        layers["used"].append((x, 0, used))
        layers["lent"].append((x, used, used + lent))
        layers["spare"].append((x, used + lent, used + max(held, lent)))
        keep.append((x, total - sample["headroom"] / MB))
        half.append((x, total - sample["headroom"] / MB / 2))
    begin = lending[0]["at_ms"]
    times = [(step["at_ms"] - begin) / 1000 for step in lending]
    most = max(step["busy_us"] for step in [*lending, *alone]) / 1000 * 1.05
    steps = Axes(first, last, most, TOP + HEIGHT + GAP, LOWER)
    height = TOP + HEIGHT + GAP + LOWER + 44
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{height}"'
        f' viewBox="0 0 {WIDTH} {height}" font-family="sans-serif" font-size="12">',
        f'<rect width="{WIDTH}" height="{height}" fill="#fff"/>',
        f'<text x="{LEFT}" y="22" font-size="15">Memory of a machine that lends it, while a'
        ' program on it grows</text>',
        *legend((("the machine's own programs", COLOURS["used"]), ("lent", COLOURS["lent"]),
                 ("kept to lend", COLOURS["spare"]), ("available", COLOURS["free"])), 46)]
    lines += [axes.area(points, COLOURS[name]) for name, points in layers.items()]
    lines += [axes.line(keep, "#222", 'stroke-dasharray="7 4"'),
              axes.line(half, "#222", 'stroke-dasharray="2 4"'),
              f'<text x="{WIDTH - RIGHT - 4}" y="{axes.at_y(keep[-1][1]) + 14:.1f}"'
              ' text-anchor="end">headroom (dotted: half of it)</text>']
    lines += axes.frame("MB")
    lines += legend((("ms a step, lending", COLOURS["lending"]),
                     ("on a machine that lends nothing", COLOURS["alone"])),
                    TOP + HEIGHT + GAP - 12)
    for name, run in (("alone", alone), ("lending", lending)):
        points = [(x, step["busy_us"] / 1000) for x, step in zip(times, run)]
        lines.append(steps.line(points, COLOURS[name], 'stroke-width="1.3"'))
    lines += steps.frame("ms")
    lines.append(f'<text x="{WIDTH / 2}" y="{height - 6}" text-anchor="middle">seconds from the'
                 " program's first step</text></svg>")
    return "\n".join(lines) + "\n"


def machines(runs):
    """The SVG: each machine's memory in use, in percent, most first; runs: (name, parts)."""
    axes = Axes(0, len(runs[0][1]), 100, TOP, HEIGHT)
    colours = (COLOURS["used"], COLOURS["lent"])
    height = TOP + HEIGHT + 44
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{height}"'
        f' viewBox="0 0 {WIDTH} {height}" font-family="sans-serif" font-size="12">',
        f'<rect width="{WIDTH}" height="{height}" fill="#fff"/>',
        f'<text x="{LEFT}" y="22" font-size="15">Memory in use, machine by machine</text>',
        *legend([(name, colour) for (name, _), colour in zip(runs, colours)], 46)]
    for number, ((_, parts), colour) in enumerate(zip(runs, colours)):
        for machine, part in enumerate(parts):
            left = axes.at_x(machine + 0.15 + number * 0.35)
            top = axes.at_y(100 * part)
            lines.append(f'<rect x="{left:.1f}" y="{top:.1f}" fill="{colour}"'
                         f' width="{axes.at_x(machine + 0.35) - axes.at_x(machine):.1f}"'
                         f' height="{axes.at_y(0) - top:.1f}"/>')
    lines += axes.frame("% of what its programs can have")
    lines.append(f'<text x="{WIDTH / 2}" y="{height - 6}" text-anchor="middle">'
                 "machines, the fullest first</text></svg>")
    return "\n".join(lines) + "\n"


def lines(title, labels, series, first, last, most, across=None, up=None, note=""):
    """
    The SVG of curves. labels: of x and y; series: {name: [(x, y)]}; a line at y = 1 where
    that is a reference. note: below the title.
    """
    colours = dict(zip(series, LINES))
    entries = list(colours.items())
    legends = [entries[start:start + 3] for start in range(0, len(entries), 3)]
    top = TOP + 20 * len(legends)
    axes = Axes(first, last, most, top, HEIGHT)
    height = top + HEIGHT + 48
    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{height}"'
        f' viewBox="0 0 {WIDTH} {height}" font-family="sans-serif" font-size="12">',
        f'<rect width="{WIDTH}" height="{height}" fill="#fff"/>',
        f'<text x="{LEFT}" y="22" font-size="15">{title}</text>',
        f'<text x="{LEFT}" y="42" fill="#555">{note}</text>',
        *(text for row, entries in enumerate(legends) for text in legend(entries, 68 + 20 * row))]
    for name, points in series.items():
        inside = [point for point in points if first <= point[0] <= last]
        out.append(axes.line(inside, colours[name], 'stroke-width="2"'))
        if len(inside) < 20:
            out += [f'<circle cx="{axes.at_x(x):.1f}" cy="{axes.at_y(y):.1f}" r="3"'
                    f' fill="{colours[name]}"/>' for x, y in inside]
    out += axes.frame(labels[1], across, up)
    out.append(f'<text x="{(LEFT + WIDTH - RIGHT) / 2}" y="{height - 8}" text-anchor="middle">'
               f'{labels[0]}</text></svg>')
    return "\n".join(out) + "\n"


def bars(title, label, names, series, note=""):
    """The SVG of bars. names: of the groups; series: {name: [value of each group]}; note: below."""
    colours = dict(zip(series, LINES))
    most = max(value for values in series.values() for value in values) * 1.05
    axes = Axes(0, len(names), most, TOP + 20, HEIGHT)
    height = TOP + 20 + HEIGHT + 32
    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{height}"'
        f' viewBox="0 0 {WIDTH} {height}" font-family="sans-serif" font-size="12">',
        f'<rect width="{WIDTH}" height="{height}" fill="#fff"/>',
        f'<text x="{LEFT}" y="22" font-size="15">{title}</text>',
        f'<text x="{LEFT}" y="42" fill="#555">{note}</text>',
        *legend(colours.items(), 68)]
    width = 0.8 / len(series)
    for place, (name, values) in enumerate(series.items()):
        for group, value in enumerate(values):
            left, top = axes.at_x(group + 0.1 + place * width), axes.at_y(value)
            across = axes.at_x(width) - axes.at_x(0)
            out.append(f'<rect x="{left:.1f}" y="{top:.1f}" width="{across:.1f}"'
                       f' height="{axes.at_y(0) - top:.1f}" fill="{colours[name]}"/>')
            out.append(f'<text x="{left + across / 2:.1f}" y="{top - 3:.1f}"'
                       f' text-anchor="middle">{value:.1f}</text>')
    out += axes.frame(label, across=[(group + 0.5, name) for group, name in enumerate(names)])
    return "\n".join(out) + "</svg>\n"
