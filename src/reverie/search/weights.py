"""Ranking constants: every weight, boost, depth and threshold, and its source.

The four weights of fusion and the depth of the retrievers are settings
(`config.SearchTuning`, `[search]`). BM25's k1 = 1.2 and b = 0.75 (the usual ones) are
`records/postings.py` K1 and B, since gains are written into the lists with them, as are
how long lists are read (BEST, ALL). The floor below which a similarity means nothing is
`llm/embedding.py` FLOOR, the weights of a word's forms and of a title's words are in
`records/terms.py`. Two numbers stay in SQL text: the tiers (`scope.py`) and the score
by time (`temporal.py`).

"Set by hand" is said of what no benchmark chose.
"""

from datetime import timedelta

# BM25 and phrases, lexical.py ---------------------------------------------------------

# What a scope narrows to at most so many passages is read in full; set by hand.
NARROW_SCOPE = 2_000
# How many packed passages a segment ranks at most within a scope; set by hand.
SCOPED_DEPTH = 20_000
# What is out of the scope is made up for by the next finds, so many times more of them
# at each go; set by hand.
DEEPER = 4
# So many texts are read at most for the phrases that they may hold, so many times the
# depth at once; set by hand.
PHRASE_TEXTS = 4_000
PHRASE_BATCH = 4
# A form of a name counts for less than the name itself: "Robert" may be another one.
# Set by hand.
NICKNAME_WEIGHT = 0.5
# Of a short form that may stand for more names (Al, Alex) the other short forms of each
# would be a crowd; set by hand.
NICKNAME_NAMES = 3

# Nearest neighbours, vector.py: docs/decisions/0011, bench/search_speed.py ------------

# Up to so many vectors are compared one by one; more are found through the HNSW index,
# unless the user has a smaller share than this of all (2 % of 40,000 are 800, where 100
# are wanted).
EXACT_VECTORS = 5_000
LEAST_SHARE = 0.02
# From this share of all vectors on, the index is asked without going on where much was
# filtered out, and again if it gave too few; set by hand.
MOSTLY_OWN = 0.8
# The lengths that have an HNSW index (migrations/0002_index.sql).
INDEXED_LENGTHS = frozenset({256, 384, 512, 768, 1024, 1536, 2048, 3072})
# ef_search at so many vectors, and how much more at ten times as many: recall@50 .973
# at 100,000 and .960 at a million (bench/RESULTS.md).
EF_SEARCH = 280
EF_SEARCH_VECTORS = 100_000
EF_SEARCH_TENFOLD = 200
LEAST_EF_SEARCH, MOST_EF_SEARCH = 160, 800
# How many entries of the index are looked at for those of the user and of the scope.
MAX_SCAN_TUPLES = 40_000
# A text of fewer words than this says less than its similarity: its words over 20, to
# the power of 0.3. docs/decisions/0009 tells of it, but of no measurement.
SHORT_PASSAGE = 20.0
SHORT_PASSAGE_POWER = 0.3

# Candidates, gather.py ----------------------------------------------------------------

# So many records are candidates for nothing but their links, after so many passages of
# the others; set by hand.
GRAPH_CANDIDATES = 8
BEFORE_GRAPH = 10

# The graph, graph.py ------------------------------------------------------------------

# Records of a named node count for so many; what is linked to hundreds says little of
# any. Set by hand.
LINKED_RECORDS = 300
# The longest name looked up, in words; set by hand.
NAME_WORDS = 5
# Within so long of an event of what is named, up to this boost; set by hand.
EVENT_NEAR = timedelta(days=7)
PROXIMITY_BOOST = 0.15

# Context, context.py: docs/decisions/0009 ---------------------------------------------

# How far neighbours count to each side, and how many passages are scored: with 300
# LoCoMo has any@10 93.3, with 500 it has 93.5.
REACH = 4
CONTEXT_PASSAGES = 300
# Windows around a passage: how many before, how many after, the weight of their words
# and of their similarity. These and the weights below were chosen on three LoCoMo
# conversations, one at a time, on a plateau where a step of any one changes any@10 by a
# point at most, with XQuAD, SciFact, RepLiQA and the vault as guards
# (bench/search_quality.py).
WINDOWS = (
    (0, 0, 0.14, 0.19),
    (1, 0, 0.15, 0.23),
    (2, 1, 0.235, 0.23),
    (4, 4, 0.24, 0.35),
)
# The words of the record around; those of the passage before, if it asks something:
# then this one may answer it.
RECORD_WORDS = 0.09
QUESTION_BEFORE = 0.11
# The record's most similar passage counts for its others too: half a point of any@1 on
# SciFact lost, half a point of share@5 on XQuAD's two languages together and one of the
# sample life's 40 first places won.
BEST_OF_RECORD = 0.125
# A passage that says it all by itself is not drowned by its neighbours: a paragraph
# least of all (SciFact any@1 falls by 2 points at 0.8), a turn of a chat less so
# (LoCoMo any@1 falls by 3 at 0.9).
OWN_SIMILARITY = 1.0
OWN_SIMILARITY_OF_TURN = 0.8

# Turns of a chat, chat_turn_features.py: docs/decisions/0006 has what each is worth ---

# A turn whose speaker the question names is likelier to hold the answer, one that only
# asks is not; one after a question answers something, and one that tells a time answers
# `when`. Chosen as the windows were.
SPEAKER_NAMED = 0.08
ONLY_ASKS = -0.3
AFTER_QUESTION = 0.05
TELLS_WHEN = 0.2
# A turn with a question mark at its end only asks up to so many words; set by hand.
SHORT_TURN = 40

# Bonuses and boosts of fusion, fusion.py, search.py: docs/decisions/0006 --------------

# For the share of the query's identifiers that a passage holds; set by hand.
EXACT_BONUS = 1.0
# For the share of the phrases in quotes that a passage holds word by word; set by hand.
PHRASE_BONUS = 3.0
# For a passage of the very day that the query names, less for each day away (LoCoMo;
# from 0.2 to 0.5 the same); so much of it where it may be no time at all. The latter
# and the days are set by hand.
TIME_BONUS = 0.3
DOUBTFUL_TIME = 0.5
NEAR_DAYS = 14
# The share of heat that is added to 1; the boost of the kind of record that the query
# speaks of, and of that kind where nothing but a time is asked for. Set by hand.
HEAT_BOOST = 0.1
DOMAIN_BOOST = 1.15
ONLY_TIME_BOOST = 2.0
# A reranker's score outweighs all other signals; what holds an identifier or a phrase
# stays before the rest all the same (twice the weight).
RERANKER_WEIGHT = 20.0
FOREMOST_BONUS = 2 * RERANKER_WEIGHT
# How many passages are kept beside the best of each record: so many, or so many times
# the limit (docs/decisions/0009).
KEPT_PASSAGES = 20
KEPT_PER_RESULT = 2

# The advanced mode, advanced.py; set by hand ------------------------------------------

# The boost of a record that two or three signals find.
CONFIRMATION = {2: 1.25, 3: 1.5}
# Scores that are within such a share of the largest say nothing by their order.
ALIKE = 0.05

# Heat, heat.py: what was touched once and went cold is left out; set by hand ----------

COLD_HEAT = 0.2
COLD_ACCESSES = 2
COLD_AFTER = timedelta(days=7)

# Time, temporal.py --------------------------------------------------------------------

# Records to look at for whether anything is of a time: a chat that went on may have
# been silent then. Set by hand.
TIME_PROBE = 20

# Ordinary questions, question_type.py, by_time.py -------------------------------------

# Chosen on bench/sets/ordinary_questions.json, on a plateau each.
# The boost of the domains that answer a type of question, and of what is by the author
# whom it names.
ANSWER_BOOST = 1.5
AUTHOR_BOOST = 1.5
# For the contact whom a question about a person names, and for a record of a domain
# that answers, as much as it holds of what is asked for.
NAMED_CONTACT = 3.0
ANSWERED = 1.0
# Of what is looked for in an order of time, so many records, within so many days from
# now on; what scores less than this share of the best is not what is meant.
IN_ORDER = 500
TYPED_DEPTH = 20
# Within the domain that answers, what is nearest counts though it is not near, down to
# this similarity; by its rank, at most so much of what holds all the words counts.
TYPED_FLOOR = 0.0
NEAREST_ANSWERS = 0.6
DAYS_AHEAD = 400
MEANT = 0.6

# Exploring, explore.py; set by hand ---------------------------------------------------

# How similar a description must be to what is looked for (0..1).
EXPLORE_THRESHOLD = 0.3
# How many hits of each kind, and how many neighbours of each hit.
EXPLORE_HITS = {"concept": 5, "entity": 3, "person": 3, "source": 5}
NEIGHBOURS = 10
# How alike two names must be (Jaro-Winkler), and how long a text may be, in words, to
# be a name as a whole.
ALIKE_NAMES = 0.86
NAME_QUERY_WORDS = 4
# How much a node's salience counts beside how near it is to what was asked.
SALIENCE = 0.2
# How many links of the hits are read.
EXPLORE_LINKS = 400
