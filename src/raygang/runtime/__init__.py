"""What runs inside Ray: the Serve application, progress of the ranks, and the CPU platform plugin for vLLM.

Imports nothing else of raygang: on Kubernetes this package travels alone, as a zip. What each module needs of Ray
and vLLM was read in Ray 2.60 and vLLM 0.32; `versions` says which versions are supported.
"""
