"""Teach deformable part models: latent SVM (DPM, VDPM) and structured SVM (DPM-VOC+VP), phase by phase."""
