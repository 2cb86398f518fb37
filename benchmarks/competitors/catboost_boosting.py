"""CatBoost, told which columns hold categories."""

from typing import Any

from sklearn.base import BaseEstimator


class CatBoost(BaseEstimator):
    """At its defaults but for `options`; it is told of columns of categories by their numbers."""

    def __init__(
        self,
        task: str = "classification",
        seed: int = 0,
        threads: int = 1,
        options: dict[str, Any] | None = None,
    ) -> None:
        self.task, self.seed, self.threads, self.options = task, seed, threads, options

    def fit(self, X: Any, y: Any) -> "CatBoost":
        """Columns of categories become texts, as CatBoost wants them."""
        import catboost

        kinds = {
            "classification": catboost.CatBoostClassifier,
            "regression": catboost.CatBoostRegressor,
        }
        self.levels_ = list(X.select_dtypes("category").columns)
        self.model_ = kinds[self.task](
            random_seed=self.seed,
            thread_count=self.threads,
            cat_features=self.levels_,
            verbose=False,
            allow_writing_files=False,
            **(self.options or {}),
        ).fit(self._rows(X), y)
        self.classes_ = getattr(self.model_, "classes_", None)
        return self

    def predict(self, X: Any) -> Any:
        """Classes or numbers."""
        return self.model_.predict(self._rows(X)).reshape(len(X))

    def predict_proba(self, X: Any) -> Any:
        """Of each class."""
        return self.model_.predict_proba(self._rows(X))

    def _rows(self, X: Any) -> Any:
        return X.astype(dict.fromkeys(self.levels_, str))


def make(task: str, seed: int, threads: int, **options: Any) -> CatBoost:
    """Not yet fitted."""
    return CatBoost(task, seed, threads, options)
