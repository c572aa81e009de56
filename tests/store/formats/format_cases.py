"""Small whole inputs of every CSV importer, for tests to spoil."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

VRD25 = {
    "within_image_objects_test.csv": (
        "image_id,object_id,entity,xmin,xmax,ymin,ymax\n"
        "p,0,/m/01,0.1,0.5,0.2,0.6\n"
        "p,1,/m/02,0,1,0.25,0.75\n"
        "p,7,/m/02,0.3,0.9,0.1,0.2\n"
        "q,0,/m/03,0.1,0.2,0.3,0.4\n"
    ),
    "within_image_vrd_test.csv": (
        "image_id_1,object_id_1,image_id_2,object_id_2,distance,occlusion,raw_distance,raw_occlusion\n"
        'p,0,p,1,1,0,"1,1,2","0,0,0,1,1"\n'
        'p,7,p,1,-1,3,"1,2","3,3,0"\n'
    ),
    "across_images_objects_validation.csv": (
        "image_id,object_id,entity,xmin,xmax,ymin,ymax\np,0,/m/04,0.5,0.6,0.5,0.6\nr,a,/m/01,0.1,0.2,0.3,0.4\n"
    ),
    "across_images_vrd_validation.csv": (
        "image_id_1,object_id_1,image_id_2,object_id_2,distance,occlusion,raw_distance,raw_occlusion\n"
        'p,0,r,a,2,0,"2,2,2","0,0,0"\n'
    ),
}

SCORING = {
    "objects.csv": VRD25["within_image_objects_test.csv"],
    "vrd.csv": VRD25["within_image_vrd_test.csv"],
    "prediction.csv": (
        "image_id_1,entity_1,xmin_1,xmax_1,ymin_1,ymax_1,image_id_2,entity_2,xmin_2,xmax_2,ymin_2,ymax_2,"
        "occlusion,distance\n"
        "p,/m/01,0.1,0.5,0.2,0.6,p,/m/02,0.0,1.0,0.25,0.75,1,2\n"
        "p,/m/02,0.3,0.9,0.1,0.2,p,/m/02,0.0,1.0,0.25,0.75,0,3\n"
    ),
}

OPENIMAGES = {
    "train-annotations-bbox.csv": (
        "ImageID,Source,LabelName,Confidence,XMin,XMax,YMin,YMax,"
        "IsOccluded,IsTruncated,IsGroupOf,IsDepiction,IsInside\n"
        "aa,xclick,/m/1,1,0.005000,0.033125,0.580000,0.627778,0,1,0,0,0\n"
        "aa,activemil,/m/2,0.5,0.1,0.2,0.3,0.4,-1,0,-1,0,0\n"
        "bb,xclick,/m/1,1,0.1,0.2,0.3,0.4,1,0,1,0,0\n"
    ),
    "challenge-2018-train-vrd.csv": (
        "ImageID,LabelName1,LabelName2,XMin1,XMax1,YMin1,YMax1,XMin2,XMax2,YMin2,YMax2,RelationshipLabel\n"
        "aa,/m/1,/m/9,0.005,0.033125,0.58,0.62777776,0.005,0.033125,0.58,0.62777776,is\n"
        "aa,/m/1,/m/2,0.005,0.033125,0.58,0.62777776,0.1,0.2,0.3,0.4,on\n"
        "bb,/m/3,/m/1,0.5,0.6,0.5,0.7,0.1,0.2,0.3,0.4,holds\n"
        "cc,/m/3,/m/3,0.5,0.6,0.5,0.7,0.5,0.6,0.5,0.7,at\n"
    ),
    "class-descriptions-boxable.csv": '/m/1,Tree\n/m/2,"Table, big"\n',
}

HIERARCHY = (
    '{"LabelName": "root", "Subcategory": [{"LabelName": "person", "Subcategory": [{"LabelName": "man"}], '
    '"Part": [{"LabelName": "arm", "Part": [{"LabelName": "hand"}]}]}, '
    '{"LabelName": "car", "Part": [{"LabelName": "wheel", "Subcategory": [{"LabelName": "tyre"}]}]}]}'
)


def lay(folder: Path, files: Mapping[str, str | bytes]) -> Path:
    """Write the files into the folder, as they stand."""
    folder.mkdir(exist_ok=True)
    for name, content in files.items():
        (folder / name).write_bytes(content.encode() if isinstance(content, str) else content)
    return folder
