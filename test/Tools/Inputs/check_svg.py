"""Checks that a picture of fa-run --plot is XML, inside its frame, and whole."""
import sys
import xml.etree.ElementTree as ET

root = ET.parse(sys.argv[1]).getroot()
space = "{http://www.w3.org/2000/svg}"
assert root.tag == space + "svg", root.tag
width, height = float(root.get("width")), float(root.get("height"))
for element in root.iter():
    for name, most in ("x", width), ("x1", width), ("x2", width), ("cx", width), ("y", height), \
            ("y1", height), ("y2", height), ("cy", height):
        assert 0 <= float(element.get(name, 0)) <= most, (element.tag, element.attrib)
words = [element.text for element in root.iter(space + "text")]
assert any("roofline of H200" in text for text in words), words
assert any(text.startswith("measured: ") for text in words), words
assert any(text.startswith("estimated: ") for text in words), words
# Each point, and beside its words.
assert len(list(root.iter(space + "circle"))) == 4
