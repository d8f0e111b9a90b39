"""Other programs' files, classes and clients: change one import or one command and keep models and data.

Each module bears the name of what it stands for: ``crfsuite_file`` reads and writes CRFsuite's models.
"""
