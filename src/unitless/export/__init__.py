"""Models for use where there is no unitless: ONNX graphs, plain JSON, scikit-learn's own estimators.

linear          a model as arrays, which all of the following read
members         one with curves and trees
ensemble        these as ONNX has them
onnx_graph      to_onnx
coefficients    to_json
estimators      to_sklearn
sklearn_input   the step before its estimator: missing values and text
"""
