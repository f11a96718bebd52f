"""The order and the attributes that DDI-Codebook 2.5 prescribes.

No package ships the schema itself, so the parts of it that a codebook of tables uses are spelled out here.
"""

from xml.etree import ElementTree

NAMESPACE = "{ddi:codebook:2_5}"
# Children in the order of the 2.5 schema; each is a sequence, so any other order is refused by a validator.
SEQUENCES = {
    "codeBook": ["docDscr", "stdyDscr", "fileDscr", "dataDscr", "otherMat"],
    "docDscr": ["citation", "guide", "docStatus", "docSrc", "controlledVocabUsed", "notes"],
    "stdyDscr": ["citation", "studyAuthorization", "stdyInfo", "studyDevelopment", "method", "dataAccs", "othrStdyMat"],
    "citation": ["titlStmt", "rspStmt", "prodStmt", "distStmt", "serStmt", "verStmt", "biblCit", "holdings", "notes"],
    "titlStmt": ["titl", "subTitl", "altTitl", "parTitl", "IDNo"],
    "prodStmt": ["producer", "copyright", "prodDate", "prodPlac", "software", "fundAg", "grantNo"],
    "stdyInfo": ["studyBudget", "subject", "abstract", "sumDscr", "qualityStatement", "notes", "exPostEvaluation"],
    "sumDscr": [
        *("timePrd", "collDate", "nation", "geogCover", "geogUnit", "geoBndBox", "boundPoly"),
        *("anlyUnit", "universe", "dataKind"),
    ],
    "dataAccs": ["setAvail", "useStmt", "notes"],
    "useStmt": [*("confDec", "specPerm", "restrctn", "contact", "citReq", "deposReq", "conditions", "disclaimer")],
    "fileDscr": ["fileTxt", "locMap", "notes"],
    "fileTxt": [
        *("fileName", "fileCitation", "dataFingerprint", "fileCont", "fileStrc", "dimensns", "fileType", "format"),
        *("filePlac", "dataChck", "ProcStat", "dataMsng", "software", "verStmt"),
    ],
    "dimensns": ["caseQnty", "varQnty", "logRecL", "recPrCas", "recNumTot"],
    "dataDscr": ["varGrp", "nCubeGrp", "var", "nCube", "notes"],
    "var": [
        *("location", "labl", "imputation", "security", "embargo", "respUnit", "anlysUnit", "qstn", "valrng"),
        *("invalrng", "undocCod", "universe", "TotlResp", "sumStat", "txt", "stdCatgry", "catgryGrp", "catgry"),
        *("codInstr", "verStmt", "concept", "derivation", "varFormat", "geoMap", "catLevel", "notes"),
    ],
    "catgry": ["catValu", "labl", "txt", "catStat", "mrow"],
    "valrng": ["item", "range", "key", "notes"],
}
ONCE = {("codeBook", "dataDscr"), ("citation", "titlStmt"), ("titlStmt", "titl"), ("catgry", "catValu")}
ATTRIBUTES = {
    "codeBook": {"version"},
    "fileDscr": {"ID"},
    "var": {"ID", "name", "files", "intrvl"},
    "varFormat": {"type"},
    "prodDate": {"date"},
    "range": {"min", "max"},
}


def _tag(element: ElementTree.Element) -> str:
    assert element.tag.startswith(NAMESPACE), f"{element.tag} is outside the namespace"
    return element.tag.removeprefix(NAMESPACE)


def check_structure(root: ElementTree.Element) -> None:
    assert _tag(root) == "codeBook"
    for element in root.iter():
        tag = _tag(element)
        assert set(element.attrib) == ATTRIBUTES.get(tag, set()), tag
        children = [_tag(child) for child in element]
        if tag not in SEQUENCES:
            assert not children, f"{tag} holds text only"
            assert tag in ("varFormat", "range") or (element.text or "").strip(), f"{tag} is empty"
            continue
        order = [SEQUENCES[tag].index(child) for child in children]
        assert order == sorted(order), f"{tag}: {children} out of order"
        for parent, child in ONCE:
            if parent == tag:
                assert children.count(child) == 1, f"{tag} needs exactly one {child}"
