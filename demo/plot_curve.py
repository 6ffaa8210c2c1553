"""Draws results/curve.csv as results/curve.svg: training loss as lines, held-out loss as points. Standard library only.

    python3 demo/plot_curve.py
"""

import csv
import os

WIDTH, HEIGHT, LEFT, BOTTOM, LOW, HIGH = 900, 360, 50, 40, 2.0, 7.0
COLOURS = {"dense": "#2563a8", "tune": "#c2571a"}


def main():
    folder = os.path.join(os.path.dirname(os.path.abspath(__file__)), "results")
    with open(os.path.join(folder, "curve.csv"), encoding="utf-8") as file:
        rows = [row for row in csv.DictReader(file) if row["phase"] in COLOURS]  # the distillation's loss is another quantity
    # One clock for both runs: the second begins where the first ended.
    first_end = max(float(row["seconds"]) for row in rows if row["run"] == "1")
    for row in rows:
        row["at"] = float(row["seconds"]) + (first_end if row["run"] == "2" else 0.0)
    last = max(row["at"] for row in rows)

    def x(at):
        return LEFT + (WIDTH - LEFT - 10) * at / last

    def y(loss):
        return 10 + (HEIGHT - BOTTOM - 10) * (HIGH - min(float(loss), HIGH)) / (HIGH - LOW)

    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" font-family="sans-serif" font-size="12">',
             f'<rect width="{WIDTH}" height="{HEIGHT}" fill="white"/>']
    for tick in range(int(LOW), int(HIGH) + 1):
        parts.append(f'<line x1="{LEFT}" x2="{WIDTH - 10}" y1="{y(tick):.1f}" y2="{y(tick):.1f}" stroke="#ddd"/><text x="28" y="{y(tick) + 4:.1f}">{tick}</text>')
    for run, phase in dict.fromkeys((row["run"], row["phase"]) for row in rows):
        some = [row for row in rows if (row["run"], row["phase"]) == (run, phase)]
        points = " ".join(f'{x(row["at"]):.1f},{y(row["train_loss"]):.1f}' for row in some)
        parts.append(f'<polyline points="{points}" fill="none" stroke="{COLOURS[phase]}"/>')
        parts += [f'<circle cx="{x(row["at"]):.1f}" cy="{y(row["held_out_loss"]):.1f}" r="4" fill="{COLOURS[phase]}"/>' for row in some if row["held_out_loss"]]
    parts.append(f'<text x="{LEFT}" y="{HEIGHT - 12}">seconds on one H200 (run 1 to {first_end:.0f}, then run 2); '
                 'lines: training loss, points: held-out loss; blue: dense attention, orange: sparse</text></svg>')
    with open(os.path.join(folder, "curve.svg"), "w", encoding="utf-8") as file:
        file.write("\n".join(parts) + "\n")


if __name__ == "__main__":
    main()
