"""Tables, charts and pages that know no exam: what every result is shown with.

svg      small pieces of SVG as text
chart    charts, each one SVG string
table    tables for a page, for Markdown, for a terminal and for a notebook
markup   templates, and words escaped for HTML and Markdown
page     a report: content of the three files of every report card
"""
