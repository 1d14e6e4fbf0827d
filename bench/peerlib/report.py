"""Markdown tables, and the ratios that the project's bars are about."""

import statistics

# name of ours, name of the peer, largest allowed ratio of CPU seconds, as written
GREY_BARS = (
    ("quell-normal", "bm3d-np", 1 / 80, "1/80"),
    ("quell-middle", "bm3dcpu-np", 1 / 2, "1/2"),
    ("quell-fast", "bm3dcpu-default", 0.6, "0.6"),
    ("quell-nlm-7/21", "nlm-ispc", 1 / 2, "1/2"),
    ("quell-nlm-7/21", "opencv-nlm", 1 / 3, "1/3"),
    ("quell-nlm-normal", "skimage-nlm", 1.0, "1"),
)
SET_BARS = (("quell-normal", "bm3d-np"),)


def heading(arguments, machine, count, rows):
    shape = next((row["shape"] for row in rows if "shape" in row), (0, 0))
    what = f"{count} pictures of {arguments.set.name}" if arguments.set else f"{shape[1]}x{shape[0]}"
    kind = "RGB" if arguments.color else "grey"
    return f"{what}, {kind}, sigma {arguments.sigma:g}, seed {arguments.seed}, one thread, {machine}\n"


def table(rows):
    lines = [
        "| method | PSNR dB | SSIM | wall s | CPU s | runs | peak MB | threads |",
        "|---|---:|---:|---:|---:|---:|---:|---:|",
    ]
    lines += [_line(row) for row in rows]
    return "\n".join(lines) + "\n" + _cache_note(rows)


def bars(rows, color):
    """Ratios of CPU seconds, each with both PSNRs."""
    if color:
        return _quality_bars({row["name"]: row["psnr"] for row in rows if "psnr" in row})
    by_name = {row["name"]: row for row in rows if "psnr" in row}
    lines = ["| bar | CPU ratio | allowed | PSNR | peer's PSNR | met |", "|---|---:|---:|---:|---:|---|"]
    for ours, peer, limit, written in GREY_BARS:
        label = f"{ours} / {peer}"
        if ours not in by_name or peer not in by_name:
            lines.append(f"| {label} | not measured | {written} | | | |")
            continue
        a, b = by_name[ours], by_name[peer]
        ratio = min(a["cpu_s"]) / min(b["cpu_s"])
        faults = [word for word, bad in (("time", ratio > limit), ("PSNR", a["psnr"] < b["psnr"])) if bad]
        shown = f"{ratio:.3f}" if ratio > 0.1 else f"1/{1 / ratio:.1f}"
        shown += " (c)" if b.get("cached") else ""
        verdict = "no: " + " and ".join(faults) if faults else "yes"
        lines.append(f"| {label} | {shown} | {written} | {a['psnr']:.3f} | {b['psnr']:.3f} | {verdict} |")
    return "\n".join(lines)


def set_tables(rows, names):
    """Means per method, then PSNR per picture."""
    lines = ["| method | mean PSNR dB | mean SSIM | mean CPU s | pictures |", "|---|---:|---:|---:|---:|"]
    for name in names:
        good = [row for row in rows if row["name"] == name and "psnr" in row]
        bad = [row for row in rows if row["name"] == name and "failed" in row]
        title = next(row["title"] for row in rows if row["name"] == name)
        if good:
            cpu = statistics.fmean(min(row["cpu_s"]) for row in good)
            mark = " (c)" if any(row.get("cached") for row in good) else ""
            lines.append(f"| {title} | {_mean(good, 'psnr'):.3f} | {_mean(good, 'ssim'):.4f} | {_seconds(cpu)}{mark} | {len(good)} |")
        if bad:
            lines.append(f"| {title} | failed on {len(bad)}: {_cell(bad[0]['failed'])} | | | |")
    shown = [name for name in names if any(row["name"] == name and "psnr" in row for row in rows)]
    lines += ["", "| picture | " + " | ".join(shown) + " |", "|---|" + "---:|" * len(shown)]
    for label in dict.fromkeys(row["picture"] for row in rows):
        found = {row["name"]: f"{row['psnr']:.2f}" for row in rows if row["picture"] == label and "psnr" in row}
        lines.append(f"| {label} | " + " | ".join(found.get(name, "failed") for name in shown) + " |")
    return "\n".join(lines) + "\n" + _cache_note(rows)


def set_bars(rows):
    """Mean PSNR of ours against the peer's on the same noise."""
    means = {}
    names = dict.fromkeys(row["name"] for row in rows)
    for name in names:
        mine = [row for row in rows if row["name"] == name]
        if all("psnr" in row for row in mine):  # a mean over fewer pictures would not compare
            means[name] = _mean(mine, "psnr")
    return _quality_bars(means)


def _quality_bars(psnr):
    lines = []
    for ours, peer in SET_BARS:
        if ours in psnr and peer in psnr:
            gap = psnr[ours] - psnr[peer]
            verdict = "yes" if gap >= 0 else "no"
            lines.append(f"{ours} {psnr[ours]:.3f} dB, {peer} {psnr[peer]:.3f} dB: {gap:+.3f} dB, no less: {verdict}")
        else:
            lines.append(f"{ours} against {peer}: not measured")
    return "\n".join(lines)


def _line(row):
    if "failed" in row:
        return f"| {row['title']} | {_cell(row['failed'])} | | | | | | |"
    wall, cpu = min(row["wall_s"]), min(row["cpu_s"])
    mark = " (c)" if row.get("cached") else ""
    peak = row.get("peak_rss_bytes")
    memory = "" if peak is None else f"{peak / 1e6:.0f}"
    if peak is not None and "rss_before_bytes" in row:
        memory += f" (+{max(0, peak - row['rss_before_bytes']) / 1e6:.0f})"
    threads = str(row.get("threads", "?"))
    if cpu > 1.2 * wall + 0.01:
        threads += f", but CPU is {cpu / wall:.1f} x wall"
    return (
        f"| {row['title']} | {row['psnr']:.2f} | {row['ssim']:.4f} | {_seconds(wall)}{mark} | {_seconds(cpu)}{mark}"
        f" | {len(row['cpu_s'])} | {memory} | {threads} |"
    )


def _cache_note(rows):
    cached = any(row.get("cached") for row in rows)
    return "\n(c): time taken from the cache, not measured in this run.\n" if cached else ""


def _seconds(value):
    return f"{value:.4f}" if value < 1 else f"{value:.2f}"


def _mean(rows, key):
    return statistics.fmean(row[key] for row in rows)


def _cell(text):
    return " ".join(text.split()).replace("|", "/")
