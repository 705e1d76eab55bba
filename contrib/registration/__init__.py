"""Registration of a study's plan before the study opens."""
