"""Tables, charts, drawings of scenes, contact sheets and pages; nothing here knows an exam."""
