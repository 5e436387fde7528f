#!/usr/bin/env python3
"""Makes docs/pictures/diagram-*.svg from the Mermaid diagrams of the documents, with Mermaid in chromium.

Argument: the directory of the npm package `mermaid`. Each picture has the text of its diagram as its description, by
which a test of crates/guide finds out that it is no longer true.
"""
import html
import json
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[1]
PICTURES = ROOT / "docs/pictures"
FENCE = re.compile(r"^```mermaid\n(.*?)^```$", re.MULTILINE | re.DOTALL)

# Labels are SVG texts: HTML in a picture is not shown by every browser.
PAGE = """<!doctype html><meta charset="utf-8"><body><script src="mermaid.min.js"></script><script>
mermaid.initialize({
  startOnLoad: false, securityLevel: "strict", theme: "neutral", htmlLabels: false, deterministicIds: true,
  fontFamily: "system-ui, sans-serif", themeVariables: { fontSize: "14px" },
  flowchart: { htmlLabels: false, wrappingWidth: 200, nodeSpacing: 25, rankSpacing: 35, padding: 10, diagramPadding: 4 },
  sequence: { actorMargin: 40, diagramMarginX: 10, width: 140, height: 40, wrap: true },
});
(async () => {
  const drawn = {};
  for (const [name, text] of Object.entries(%s)) drawn[name] = (await mermaid.render(name, text)).svg;
  const result = document.createElement("pre");
  result.id = "result";
  result.textContent = JSON.stringify(drawn);
  document.body.replaceChildren(result);
})();
</script>"""


def diagrams():
    """Names and texts of all diagrams."""
    for document in sorted(ROOT.glob("docs/**/*.md")):
        stem = "-".join(document.relative_to(ROOT / "docs").with_suffix("").parts)
        for number, text in enumerate(FENCE.findall(document.read_text("utf-8")), 1):
            yield f"diagram-{stem}-{number}", text


def drawn(texts, mermaid):
    """The diagrams as SVG."""
    with tempfile.TemporaryDirectory() as work:
        work = pathlib.Path(work)
        (work / "mermaid.min.js").symlink_to((mermaid / "dist/mermaid.min.js").resolve())
        page = work / "page.html"
        page.write_text(PAGE % json.dumps(texts).replace("<", "\\u003c"), "utf-8")
        dom = subprocess.run(
            ["chromium", "--headless", "--no-sandbox", "--disable-gpu", "--no-first-run",
             "--allow-file-access-from-files", f"--user-data-dir={work}/profile", "--virtual-time-budget=60000",
             "--dump-dom", page.as_uri()],
            check=True, capture_output=True, text=True, timeout=180).stdout
    result = re.search(r'<pre id="result">(.*?)</pre>', dom, re.DOTALL)
    if not result:
        sys.exit("chromium has drawn nothing:\n" + dom[-2000:])
    return json.loads(html.unescape(result[1]))


def picture(svg, text):
    """The SVG as a file: with a size of its own, and its text as description."""
    _, _, width, height = (float(number) for number in re.search(r'viewBox="([^"]+)"', svg)[1].split())
    # Outlines are drawn with twenty digits, and parts carry what only Mermaid's own scripts read.
    svg = re.sub(r' data-[a-z-]+="[^"]*"', "", svg)
    svg = re.sub(r'(?<=[ "(,A-Za-z-])\d+\.\d{2,}(?=[ ",)A-Za-z-])', lambda number: f"{float(number[0]):.1f}", svg)
    head, rest = svg.split(">", 1)
    head = re.sub(r' (style|width|height|class)="[^"]*"', "", head)
    description = html.escape(text, quote=False)
    return f'{head} width="{width:.0f}" height="{height:.0f}"><desc>{description}</desc>{rest}\n'


def main():
    texts = dict(diagrams())
    for old in PICTURES.glob("diagram-*.svg"):
        old.unlink()
    for name, svg in drawn(texts, pathlib.Path(sys.argv[1])).items():
        (PICTURES / f"{name}.svg").write_text(picture(svg, texts[name]), "utf-8")
        print(f"docs/pictures/{name}.svg")


main()
