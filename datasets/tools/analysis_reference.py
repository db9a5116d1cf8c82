#!/usr/bin/env python3
"""Writes analysis_reference.json: what published implementations say of generated data, for the tests of `poise analyze`.

Trees and forests are scikit-learn's, Silverman's rule and the densities KDEpy's, the Improved Sheather-Jones bandwidths
kde-diffusion's, a port of Botev's own program. KDEpy's are recorded and not used: it multiplies the square root of the
diffusion time, which is relative to the grid's length, by the range of the data, half of that.

Usage: pip install scikit-learn KDEpy kde-diffusion; python analysis_reference.py > analysis_reference.json
"""

import json
import warnings
from importlib.metadata import version

import KDEpy
import numpy as np
from KDEpy.bw_selection import improved_sheather_jones, silvermans_rule
from kde_diffusion import kde1d
from scipy.signal import argrelmin
from sklearn.ensemble import RandomForestClassifier
from sklearn.metrics import accuracy_score, confusion_matrix
from sklearn.tree import DecisionTreeClassifier

warnings.simplefilter("ignore")
rng = np.random.default_rng(20260101)


def densities():
    """Bandwidths, densities at eleven places and valleys of four samples."""
    samples = {
        "normal": rng.normal(10, 2, 300),
        "two": np.concatenate([rng.normal(0, 1, 150), rng.normal(12, 0.8, 100)]),
        "three": np.concatenate([rng.normal(100, 3, 200), rng.normal(128, 4, 120), rng.normal(160, 2, 80)]),
        "skewed": rng.lognormal(0, 0.8, 400),
    }
    out = []
    for name, x in samples.items():
        x = np.round(x, 5)
        column = x.reshape(-1, 1)
        half = (x.max() - x.min()) / 2
        bandwidths = {
            "silverman": float(silvermans_rule(column)),
            "isj": float(kde1d(x, n=1024, limits=(x.min() - half, x.max() + half))[2]),
        }
        entry = {"name": name, "values": x.tolist(), "kdepy_isj": float(improved_sheather_jones(column)), "rules": {}}
        for rule, bandwidth in bandwidths.items():
            kde = KDEpy.NaiveKDE(kernel="gaussian", bw=bandwidth).fit(x)
            places = np.linspace(x.min(), x.max(), 11)
            fine = np.linspace(x.min(), x.max(), 20001)
            density = kde.evaluate(fine)
            valleys = fine[argrelmin(density)[0]]
            entry["rules"][rule] = {
                "bandwidth": bandwidth,
                "places": places.tolist(),
                "density": kde.evaluate(places).tolist(),
                "valleys": valleys.tolist(),
            }
        out.append(entry)
    return out


def rows():
    """Three classes that depend on two of three numbers and on one of two texts; one row in ten is wrong."""
    n = 400
    numbers = np.round(rng.uniform(0, 10, (n, 3)), 6)
    node = rng.integers(0, 3, n)
    flag = rng.integers(0, 2, n)
    label = np.where(numbers[:, 0] > 6, 2, np.where(numbers[:, 1] + 4 * (node == 2) > 5, 1, 0))
    wrong = rng.random(n) < 0.1
    label = np.where(wrong, rng.integers(0, 3, n), label)
    return numbers, node, flag, label


def nodes(tree):
    """The tree's nodes in preorder, as scikit-learn keeps them."""
    t = tree.tree_
    return [
        {
            "feature": int(t.feature[i]),
            "threshold": float(t.threshold[i]),
            "impurity": float(t.impurity[i]),
            "rows": int(t.n_node_samples[i]),
        }
        for i in range(t.node_count)
    ]


def out_of_bag(forest, x, y, groups):
    """Mean decrease of the out-of-bag accuracy when a group of columns is shuffled, over 20 shuffles."""
    n = len(y)
    unseen = [np.setdiff1d(np.arange(n), drawn) for drawn in forest.estimators_samples_]

    def accuracy(data):
        votes = np.zeros((n, forest.n_classes_))
        for tree, left_out in zip(forest.estimators_, unseen):
            said = tree.predict(data[left_out]).astype(int)
            votes[left_out, said] += 1
        seen = votes.sum(axis=1) > 0
        return float(np.mean(votes.argmax(axis=1)[seen] == y[seen]))

    whole = accuracy(x)
    importances = []
    for group in groups:
        drops = []
        for _ in range(20):
            shuffled = x.copy()
            shuffled[:, group] = shuffled[rng.permutation(n)][:, group]
            drops.append(whole - accuracy(shuffled))
        importances.append(float(np.mean(drops)))
    return whole, importances


def classification():
    numbers, node, flag, label = rows()
    # A text is one column of zeros and ones per value.
    x = np.column_stack([numbers, *(node == k for k in range(3)), *(flag == k for k in range(2))]).astype(float)
    groups = [[0], [1], [2], [3, 4, 5], [6, 7]]
    train, test = np.arange(0, 320), np.arange(320, 400)
    tree = DecisionTreeClassifier(max_depth=4, min_samples_leaf=12, random_state=1).fit(x[train], label[train])
    said = tree.predict(x[test])
    forest = RandomForestClassifier(n_estimators=500, max_features="sqrt", random_state=1).fit(x, label)
    together = lambda each: [float(sum(each[i] for i in group)) for group in groups]
    accuracy, permutation = out_of_bag(forest, x, label, groups)
    return {
        "numbers": numbers.tolist(),
        "node": node.tolist(),
        "flag": flag.tolist(),
        "label": label.tolist(),
        "train_rows": 320,
        "tree": {
            "max_depth": 4,
            "min_samples_leaf": 12,
            "nodes": nodes(tree),
            "importance": together(tree.feature_importances_),
            "accuracy": float(accuracy_score(label[test], said)),
            "confusion": confusion_matrix(label[test], said).tolist(),
        },
        "forest": {
            "trees": 500,
            "importance": together(forest.feature_importances_),
            "out_of_bag_accuracy": accuracy,
            "permutation": permutation,
        },
    }


packages = ["numpy", "scipy", "scikit-learn", "KDEpy", "kde-diffusion"]
versions = {name: version(name) for name in packages}
print(json.dumps({"versions": versions, "densities": densities(), "classification": classification()}))
