"""Reports of studies: figures, tables and text as data (``build_report``), and their files (``write_report``)."""
