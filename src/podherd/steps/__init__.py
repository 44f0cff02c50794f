"""The deeds of a pod's plan: one file per step, `order` lists them, `runner` performs them and never raises."""
