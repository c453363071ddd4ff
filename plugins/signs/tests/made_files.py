"""Files in the shapes that others write, made up: for tests of what is read from them."""
import csv
import json
import random


def points(count, y):
    return [[random.random(), y + 0.1 * random.random(), 0.0] for _ in range(count)]


def video(frames):
    """MediaPipe's landmarks as BDSLW's first stage writes them; the shoulders stand below the nose."""
    pose = points(33, 0.2)
    pose[11][1] = pose[12][1] = 0.5
    return {"frames": [{"frame_number": i, "height": 720, "width": 1280, "has_pose": True, "has_hands": True} for i in range(frames)],
            "video_info": {"total_frames": frames, "video_path": "x.mp4", "video_name": "x"},
            "pose_landmarks": [pose for _ in range(frames)],
            "hand_landmarks": [{"left": points(21, 0.4), "right": None} for _ in range(frames)]}


def write_landmarks(folder, signers, words):
    """A clip of each signer and word."""
    folder.mkdir(parents=True)
    for signer in signers:
        for word in words:
            (folder / f"W{word:03}_{signer}_landmarks.json").write_text(json.dumps(video(3)))


def write_parquet(folder, stub):
    """Kaggle's asl-signs, of three signs and six signers; `stub` gets the pandas that reads it."""
    for made in (folder, stub):
        made.mkdir(parents=True)
    # As pandas' own it takes a path and columns, and gives a table of lists.
    (stub / "pandas.py").write_text(
        "import json\n\n\ndef read_parquet(path, columns):\n    return {name: json.loads(open(path).read())[name] for name in columns}\n")
    with open(folder / "train.csv", "w", newline="") as listing:
        out = csv.writer(listing)
        out.writerow(["path", "participant_id", "sequence_id", "sign"])
        for i in range(24):
            x = [random.random() for _ in range(543 * 4)]
            x[468:489] = [float("nan")] * 21  # the left hand of the first frame
            y = [0.25 if row % 543 < 500 else 0.75 for row in range(543 * 4)]
            y[468:489] = [float("nan")] * 21
            (folder / f"{i}.parquet").write_text(str({"x": x, "y": y}).replace("'", '"').replace("nan", "NaN"))
            out.writerow([f"{i}.parquet", i % 6, i, ("blow", "wait", "cloud")[i % 3]])
