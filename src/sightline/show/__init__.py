"""Tables, charts, drawings of scenes, contact sheets and pages that know no exam: what every result is shown with.

svg       small pieces of SVG as text
chart     charts, each one SVG string; xy: values over x with error bars, bands and lines
table     tables for a page, for Markdown, for a terminal and for a notebook
frame     one image with its objects, ready to be drawn; outlines: masks as polygons
drawing   marks on a frame as SVG; raster: the same marks as pixels
sheet     contact sheets of many scenes
markup    templates, and words escaped for HTML and Markdown
page      a report: content of the three files of every report card
progress  bars for long work, in a terminal or a notebook
"""
