"""The picture of a run, an SVG that needs nothing else: bars for the five numbers, and a square for each action."""
import html
import math

from field import MODES

__all__ = ['draw']

WIDTH, MARGIN = 960, 40
BAR_HEIGHT, BAR_STEP, BAR_LEFT, BAR_RIGHT = 26, 38, 150, 110
GRID_COLUMNS_LEAST, CELL_MOST = 50, 14
COLOURS = {'actions': '#5b6b7b', 'attempts': '#8a9bab', 'executions': '#2f7d5b', 'duplicates': '#c0392b', 'replays': '#3b6fb6',
           'once': '#a9cdbb', 'twice': '#c0392b', 'open': '#d99a1c', 'lost': '#111111'}
FATES = {'once': 'paid once', 'twice': 'paid more than once', 'open': 'open: a person must decide', 'lost': 'lost: not paid, not open'}


def text(x, y, words, size=14, colour='#222222', anchor='start', weight='normal'):
    return (f'<text x="{x:g}" y="{y:g}" font-size="{size}" fill="{colour}" text-anchor="{anchor}" font-weight="{weight}">'
            f'{html.escape(str(words))}</text>')


def rect(x, y, width, height, colour):
    return f'<rect x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}" fill="{colour}"/>'


def nice_step(most, n_most=6):
    """The distance of the ticks of an axis from 0 to `most`: 1, 2 or 5 times a power of ten."""
    raw = max(1, most / n_most)
    power = 10 ** math.floor(math.log10(raw))
    return next(int(factor * power) for factor in (1, 2, 5, 10) if factor * power >= raw)


def bars(numbers, top):
    """(elements, bottom): a bar for each, from zero, on one linear axis."""
    most = max(1, *numbers.values())
    scale = (WIDTH - MARGIN - BAR_LEFT - BAR_RIGHT) / most
    bottom = top + BAR_STEP * len(numbers)
    out = []
    for tick in range(0, most + 1, nice_step(most)):
        x = BAR_LEFT + tick * scale
        out.append(f'<line x1="{x:g}" y1="{top - 6}" x2="{x:g}" y2="{bottom}" stroke="#e3e6e9"/>')
        out.append(text(x, bottom + 16, f'{tick:,}', 11, '#666666', 'middle'))
    for row, (name, n) in enumerate(numbers.items()):
        y = top + row * BAR_STEP
        out.append(text(BAR_LEFT - 12, y + BAR_HEIGHT * 0.7, name, 14, anchor='end'))
        out.append(rect(BAR_LEFT, y, n * scale, BAR_HEIGHT, COLOURS[name]))
        out.append(text(BAR_LEFT + n * scale + 8, y + BAR_HEIGHT * 0.7, f'{n:,}', 14, weight='bold'))
    return out, bottom + 30


def squares(count, top):
    """(elements, bottom): each action in the order in which they came, row by row."""
    fates = [count.fate(number) for number in range(count.n_actions)]
    n_columns = max(GRID_COLUMNS_LEAST, math.ceil(math.sqrt(count.n_actions * 2.5)))
    size = min(CELL_MOST, (WIDTH - 2 * MARGIN) / n_columns)
    out = []
    x = MARGIN
    for fate, words in FATES.items():
        n = fates.count(fate)
        out += [rect(x, top, 12, 12, COLOURS[fate]), text(x + 18, top + 11, f'{words}: {n:,}', 13)]
        x += 60 + 7.2 * len(f'{words}: {n:,}')
    top += 26
    for number, fate in enumerate(fates):
        out.append(rect(MARGIN + number % n_columns * size, top + number // n_columns * size, size * 0.82, size * 0.82, COLOURS[fate]))
    return out, top + math.ceil(count.n_actions / n_columns) * size + 10


def draw(path, options, clock, outcome):
    """Writes the picture of one run."""
    count, setting = outcome.count, outcome.setting
    chaos = f', effectd killed {outcome.chaos["kills"]} times, PostgreSQL {outcome.chaos["restarts"]} times' if outcome.chaos else ''
    said = count.as_json()
    out = [text(MARGIN, 42, f'Mission {options.mission}, {setting.title} (mode {options.mode})', 22, weight='bold'),
           text(MARGIN, 64, MODES[options.mode], 14),
           text(MARGIN, 86, f'service median {setting.median_ms:g} ms, time-out {setting.timeout_ms:g} ms, {setting.reply_loss:.0%} of the replies lost, '
                f'{setting.crash:.0%} of the runs crash, {setting.dispatch:.0%} given to two workers', 13, '#555555'),
           text(MARGIN, 104, f'seed {options.seed}, time {clock.factor:g} times as fast{chaos}; counted from the provider\'s book', 13, '#555555')]
    more, top = bars({name: said[name] for name in ('actions', 'attempts', 'executions', 'duplicates', 'replays')}, 134)
    out += more
    out.append(text(BAR_LEFT, top + 8, f'lost {said["lost"]:,}  \u00b7  unknown told {said["unknown_told"]:,}  \u00b7  escalated {said["escalated"]:,}  \u00b7  '
                    f'p95 latency {said["p95_ms"]:,} ms', 14, weight='bold'))
    out.append(text(MARGIN, top + 44, 'Each square is one action, in the order in which they came', 14))
    more, bottom = squares(count, top + 58)
    out += more
    height = math.ceil(bottom + 10)
    with open(path, 'w', encoding='utf-8') as svg:
        svg.write(f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{height}" viewBox="0 0 {WIDTH} {height}" '
                  f'font-family="DejaVu Sans, Helvetica, Arial, sans-serif">\n<rect width="100%" height="100%" fill="#ffffff"/>\n')
        svg.write('\n'.join(out) + '\n</svg>\n')
