import base64

import pytest
from pymdownx.superfences import SuperFencesException

from ostraka.deploy.reference.diagrams import draw_mermaid


@pytest.mark.heavy
def test_a_diagram_is_a_picture_of_its_own_size() -> None:
    made = draw_mermaid('flowchart LR\n A["x < y"] --> B', "mermaid", "diagram", {}, None)
    assert 'alt="flowchart LR\n A[&quot;x &lt; y&quot;] --&gt; B"' in made
    svg = base64.b64decode(made.partition("base64,")[2].partition('"')[0]).decode()
    width, view_box = (svg.partition(f'{name}="')[2].partition('"')[0] for name in ("width", "viewBox"))
    assert width == view_box.split()[2]


@pytest.mark.heavy
def test_one_that_cannot_be_read_ends_the_build() -> None:
    with pytest.raises(SuperFencesException, match=r"cannot be drawn.*\n"):
        draw_mermaid("sequenceDiagram\n A->>B: one; two of it", "mermaid", "diagram", {}, None)
