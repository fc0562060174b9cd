import pytest

from braindex.domain.routing import (
    ARCHITECTURE_KEYWORDS,
    NO_ENGINE,
    CloudRefused,
    RoutingRules,
    keyword_in,
    review_route,
    route,
    select_model,
)

SHORT = "Where is process_data defined?"
KEYWORD = "explain how the query routing pipeline decides between DeepSeek v4-flash and v4-pro"
LONG = "word " * 40
BOTH = RoutingRules(cloud=True, ollama=True)
CLOUD = RoutingRules(cloud=True)
OLLAMA = RoutingRules(ollama=True)


def rules(mode, *, cloud=True, ollama=True, **more) -> RoutingRules:
    return RoutingRules(mode=mode, cloud=cloud, ollama=ollama, **more)


# The contract's table, row by row: (rules, use_cloud, question) → (engine, a part of the reason).
TABLE = [
    # MEMORY_MODE=local
    (rules("local"), None, SHORT, "ollama", "MEMORY_MODE=local"),
    (rules("local"), False, SHORT, "ollama", "MEMORY_MODE=local"),
    (rules("local"), None, KEYWORD, "ollama", "MEMORY_MODE=local"),
    (rules("local"), None, LONG, "ollama", "MEMORY_MODE=local"),
    # use_cloud
    (rules("hybrid"), True, SHORT, "deepseek-flash", "use_cloud=true"),
    (rules("cloud"), False, SHORT, "ollama", "use_cloud=false"),
    (rules("cloud"), False, KEYWORD, "ollama", "use_cloud=false"),
    (BOTH, False, LONG, "ollama", "use_cloud=false"),
    # an architecture keyword
    (rules("hybrid"), None, KEYWORD, "deepseek-flash", "“pipeline”"),
    (BOTH, None, "review the architecture", "deepseek-flash", "“architecture”"),
    # 40 words
    (rules("hybrid"), None, LONG, "deepseek-flash", "40 words"),
    (rules("hybrid"), None, "word " * 39, "ollama", "MEMORY_MODE=hybrid"),
    # mode cloud, mode hybrid
    (rules("cloud"), None, SHORT, "deepseek-flash", "MEMORY_MODE=cloud"),
    (rules("hybrid"), None, SHORT, "ollama", "MEMORY_MODE=hybrid"),
    # mode unset
    (BOTH, None, SHORT, "ollama", "both engines"),
    (CLOUD, None, SHORT, "deepseek-flash", "the only engine configured"),
    (OLLAMA, None, SHORT, "ollama", "the only engine configured"),
    (RoutingRules(), None, KEYWORD, "none", NO_ENGINE),
    # the chosen one is not configured
    (OLLAMA, None, KEYWORD, "ollama", "DeepSeek is not configured"),
    (OLLAMA, True, SHORT, "ollama", "DeepSeek is not configured"),
    (rules("cloud", cloud=False), None, SHORT, "ollama", "DeepSeek is not configured"),
    (rules("hybrid", ollama=False), None, SHORT, "deepseek-flash", "Ollama is not configured"),
    (rules("local", ollama=False), None, SHORT, "none", "Ollama is not configured"),
    (CLOUD, False, SHORT, "none", "use_cloud=false, but Ollama is not configured"),
    (rules("local", ollama_elsewhere=True), None, SHORT, "none", "OLLAMA_HOST is another machine"),
    (rules("hybrid", ollama_elsewhere=True), None, SHORT, "ollama", "MEMORY_MODE=hybrid"),
]  # fmt: skip


@pytest.mark.parametrize(("given", "use_cloud", "question", "engine", "reason"), TABLE)
def test_every_row_of_the_table_decides_and_says_why(given, use_cloud, question, engine, reason):
    decided = route(question, use_cloud, 1, given)
    assert (decided.engine, reason in decided.reason) == (engine, True), decided.reason


@pytest.mark.parametrize("given", [rules("local"), rules("local", cloud=False, ollama=False)])
def test_the_cloud_in_local_mode_is_an_error_that_names_the_setting(given):
    with pytest.raises(CloudRefused, match="MEMORY_MODE"):
        route(SHORT, True, 1, given)


@pytest.mark.parametrize(
    ("question", "files", "engine", "reason"),
    [
        (SHORT, 3, "deepseek-flash", ""),
        (SHORT, 4, "deepseek-pro", "4 files"),
        (KEYWORD, 1, "deepseek-pro", "pipeline"),
        (LONG, 1, "deepseek-pro", "40 words"),
    ],
)
def test_pro_answers_large_questions_where_it_is_enabled(question, files, engine, reason):
    chosen, why = select_model(question, files, rules("cloud", pro=True))
    assert (chosen, reason in why) == (engine, True)
    assert select_model(question, files, rules("cloud"))[0] == "deepseek-flash"


def test_pro_and_its_reason_are_part_of_the_route():
    decided = route(KEYWORD, None, 1, rules("hybrid", pro=True))
    assert (decided.engine, "pro for “pipeline”" in decided.reason) == ("deepseek-pro", True)


@pytest.mark.parametrize(
    ("question", "keyword"),
    [
        ("what are the trade-offs here", "trade-off"),
        ("the tradeoff of caching", "trade-off"),
        ("a TRADE OFF", "trade-off"),
        ("Refactoring the scanner", "refactor"),
        ("how is it designed?", "design"),
        ("the design_tokens table", ""),
        ("a designated driver", ""),
        ("explain\n how it works", "explain how"),
        ("explain the how", ""),
    ],
)
def test_a_keyword_counts_as_whole_words_in_its_usual_forms(question, keyword):
    assert keyword_in(question, ARCHITECTURE_KEYWORDS) == keyword


def test_keywords_of_the_user_are_taken_as_they_are_written():
    assert keyword_in("is c++ (really) faster", ("c++",)) == "c++"
    assert keyword_in("plain", ()) == ""


@pytest.mark.parametrize(
    ("rules", "files", "engine", "why"),
    [
        (RoutingRules(), 1, "none", "no engine is configured"),
        (RoutingRules(cloud=True), 1, "deepseek-flash", "the only engine"),
        (RoutingRules(ollama=True), 9, "ollama", "the only engine"),
        (RoutingRules(cloud=True, ollama=True), 1, "deepseek-flash", "reviews go to the cloud"),
        (RoutingRules(cloud=True, pro=True), 3, "deepseek-flash", "the only engine"),
        (RoutingRules(cloud=True, pro=True), 4, "deepseek-pro", "a change of 4 files"),
        (RoutingRules("local", cloud=True, ollama=True), 9, "ollama", "MEMORY_MODE=local"),
        (RoutingRules("local", cloud=True), 1, "none", "OLLAMA_MODEL"),
        (RoutingRules("local", ollama=True, ollama_elsewhere=True), 1, "none", "another machine"),
    ],
)
def test_a_review_goes_to_the_cloud_where_it_may(rules: RoutingRules, files: int, engine: str, why: str) -> None:
    found = review_route(files, rules)
    assert found.engine == engine
    assert why in found.reason
