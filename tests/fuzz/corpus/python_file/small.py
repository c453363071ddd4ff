import medley
class A(medley.Task):
    spec = {"name": "a", "passes": [{"name": "p"}], "terms": [{"name": "t"}]}; x = 1
