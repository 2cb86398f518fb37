"""
A first day with a table
========================

A data frame with categories and gaps, a model with nothing to set, and what it has to say: which
columns matter, how sure it is, and what it is worth. Beside it scikit-learn's boosted trees, which
take such a table as well.
"""

# %%
# The patients of scikit-learn's diabetes study: will the disease have progressed more than usual a
# year from now? Numbers, a category, and gaps, which are made here since the study has none.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_diabetes
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.metrics import accuracy_score, log_loss
from sklearn.model_selection import train_test_split

from pinvlearn import FeatureMachineClassifier, RoundsDisplay

frame, progression = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
names = {"bmi": "body mass", "bp": "blood pressure", "s5": "triglycerides", "s6": "glucose"}
frame = frame.rename(columns=names)
frame["sex"] = frame["sex"].map({1.0: "one", 2.0: "other"}).astype("category")
rng = np.random.default_rng(0)
for column in ("body mass", "glucose", "age"):
    frame.loc[rng.random(len(frame)) < 0.1, column] = np.nan
y = np.where(progression > progression.median(), "more", "less")
train, test, y_train, y_test = train_test_split(frame, y, test_size=0.3, random_state=0)
print(train.head())

# %%
# One line learns from it. Columns are made ready inside: numbers scaled and ranked, categories as
# indicators, gaps filled and marked. ``report_`` says what was done.

model = FeatureMachineClassifier(random_state=0).fit(train, y_train)
print(model.report_)

# %%
# Which columns matter: the share of each in the average gradient outer product of the fitted
# function, that is, how far its outputs move when a column does.

order = np.argsort(model.feature_importances_)
fig, ax = plt.subplots(layout="constrained")
ax.barh(model.feature_names_in_[order], model.feature_importances_[order])
ax.set(xlabel="importance", title="Which columns the machine looks at")
plt.show()

# %%
# Was it worth learning a metric? Each round is judged by rows that had no part in it; without a
# gain beyond chance the plain machine stays.

display = RoundsDisplay.from_estimator(model)
display.figure_.set_size_inches(7, 4.5)
plt.show()

# %%
# Probabilities, and a score that needs no test rows: that of rows left out, corrected for all that
# was chosen by them. Beside it what new patients show, for the feature machine and boosted trees.

trees = HistGradientBoostingClassifier(random_state=0).fit(train, y_train)
for name, learner in {"feature machine": model, "boosted trees": trees}.items():
    shares = learner.predict_proba(test)
    print(
        f"{name:15s}  accuracy {accuracy_score(y_test, learner.predict(test)):.3f}  "
        f"log-loss {log_loss(y_test, shares, labels=learner.classes_):.3f}"
    )
print(f"without test rows: accuracy {model.corrected_accuracy_:.3f}, ", end="")
print(f"log-loss {-model.corrected_score_:.3f}")
for patient, (less, more) in zip(test.index[:3], model.predict_proba(test[:3]), strict=True):
    print(f"patient {patient}: less {less:.2f}, more {more:.2f}")
