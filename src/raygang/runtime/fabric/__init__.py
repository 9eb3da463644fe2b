"""The fabric's probe: runs in the gang's own pods before the engine starts, and says what carries the bytes.

`expected` is what the specification demands, `facts` what each rank's pod has, `measured` what a real collective did,
`verdict` the first cause in the chain from device to traffic, and `report` all of it as JSON. Nothing here imports
torch or Ray at import: the reader of a report needs neither.
"""
