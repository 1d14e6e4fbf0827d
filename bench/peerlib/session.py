"""One comparison from start to end: pictures, methods, tables."""

import json
import platform
import sys

from peerlib import measure, metrics, pictures, report


def run(arguments, root):
    """Returns the exit status: 0, or 2 where nothing could be compared."""
    if arguments.list:
        print("\n".join(f"{name:16} {measure.title(name)}" for name in measure.all_names()))
        return 0
    try:
        names = _select(arguments)
        sources = _sources(arguments)
    except (ValueError, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    if arguments.set or arguments.quick:
        arguments.repeat = 1
    runner = measure.Runner(arguments, root)
    rows = []
    for label, load in sources:
        try:
            clean = load()
        except (ValueError, OSError) as error:
            rows += [_row(label, name, failed=str(error)) for name in names]
            continue
        if arguments.quick:
            clean = pictures.centre(clean)
        noisy = pictures.add_noise(clean, arguments.sigma, arguments.seed)
        for name in names:
            rows.append(_measure(runner, label, name, clean, noisy))
    print(report.heading(arguments, platform.machine(), len(sources), rows))
    print(report.set_tables(rows, names) if arguments.set else report.table(rows))
    print(report.set_bars(rows) if arguments.set else report.bars(rows, arguments.color))
    if arguments.json:
        document = {"sigma": arguments.sigma, "seed": arguments.seed, "color": arguments.color, "rows": rows}
        try:
            arguments.json.write_text(json.dumps(document, indent=1) + "\n")
        except OSError as error:
            print(f"error: {arguments.json}: {error.strerror}", file=sys.stderr)
            return 2
    return 0


def _select(arguments):
    if not arguments.only:
        # A set is about quality; most peers would only take time there.
        return [n for n in measure.all_names() if not arguments.set or n.startswith("quell") or n == "bm3d-np"]
    wanted = [part.strip() for part in arguments.only.split(",") if part.strip()]
    known = measure.all_names()
    for part in wanted:
        if not any(name.startswith(part) for name in known):
            raise ValueError(f"--only {part}: no such method\nhint: --list shows the names")
    return [n for n in known if any(n == w or (w not in known and n.startswith(w)) for w in wanted)]


def _sources(arguments):
    """Pairs of a label and a function that gives the clean picture."""
    color = arguments.color
    if arguments.set:
        paths = pictures.list_folder(arguments.set, arguments.limit)
        if not paths:
            raise ValueError(f"{arguments.set}: no pictures in this folder")
        return [(path.name, lambda path=path: pictures.load(path, color)) for path in paths]
    if arguments.image:
        clean = pictures.load(arguments.image, color)
        return [(arguments.image.name, lambda: clean)]
    label, clean = pictures.default(color)
    return [(label, lambda: clean)]


def _row(label, name, **more):
    return {"picture": label, "name": name, "title": measure.title(name), **more}


def _measure(runner, label, name, clean, noisy):
    print(f"{label}: {name}", file=sys.stderr, flush=True)
    row = _row(label, name, shape=list(clean.shape))
    try:
        measured, picture = runner.run(name, noisy)
    except measure.Failed as reason:
        return dict(row, failed=str(reason))
    except Exception as error:  # one broken peer must not cost the table
        return dict(row, failed=repr(error))
    row.update(measured, psnr=metrics.psnr(clean, picture), ssim=metrics.ssim(clean, picture))
    return row
