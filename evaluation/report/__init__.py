"""Reports of studies: numbers, tables and text as data (``build_report``), and files (``write_report``)."""
