"""Models for use without unitless: ONNX graphs, plain JSON, scikit-learn's own estimators.

linear          a model as arrays, the input of all other modules
members         models with curves and trees as arrays
ensemble        curves and trees as an ONNX TreeEnsemble
onnx_graph      to_onnx
coefficients    to_json
estimators      to_sklearn
sklearn_input   the preprocessing step of its estimators: missing values and text
"""
