"""SQL views for people who ask a store with their own tools: one for each question, with names instead of ids.

Each has a column `league` with the slug. An erased item is called `#7`; deleted leagues are left out; times are in UTC.

- `mb_results_by_pair`: how often each pair met, and what it achieved.
- `mb_results_by_item`: the same for each item, over all its pairs.
- `mb_results_by_week`: outcomes by the ISO week in which they were recorded, such as 2026-W47.
- `mb_proposed_pairs`: who proposed each pair and who recorded its outcome, and when; the outcome of a void one is null.
- `mb_open_outcomes`: the pairs whose outcome is missing.
- `mb_changes`: who changed what, and when: a row for each item, pair or outcome of a change.
"""

from sqlalchemy import Connection

_NAMES = """JOIN mb_item first ON first.league_id = {of}.league_id AND first.id = {of}.a
JOIN mb_item second ON second.league_id = {of}.league_id AND second.id = {of}.b"""
_FIRST, _SECOND = "coalesce(first.name, '#' || first.id)", "coalesce(second.name, '#' || second.id)"
_LEAGUE = "JOIN mb_league league ON league.id = {of}.league_id AND league.deleted_at IS NULL"
_RESULTS = """(SELECT league_id, a, b, 1 AS n, outcome AS total FROM mb_proposal_pair WHERE outcome IS NOT NULL
UNION ALL SELECT league_id, a, b, count, total FROM mb_past_result) result"""
_RESULTS_BY_ITEM = f"""(SELECT league_id, id, sum(n) AS n, sum(total) AS total FROM (
SELECT league_id, a AS id, n, total FROM {_RESULTS} UNION ALL SELECT league_id, b, n, total FROM {_RESULTS}) each
GROUP BY league_id, id) result"""

_VIEWS = {
    "mb_results_by_pair": f"""
SELECT league.slug AS league, {_FIRST} AS first, {_SECOND} AS second, result.a AS first_id, result.b AS second_id,
    sum(result.n) AS results, sum(result.total) AS total, sum(result.total) / sum(result.n) AS mean
FROM {_RESULTS} {_LEAGUE.format(of="result")} {_NAMES.format(of="result")}
GROUP BY league.slug, result.a, result.b, first.name, first.id, second.name, second.id""",
    "mb_results_by_item": f"""
SELECT league.slug AS league, item.id AS item_id, coalesce(item.name, '#' || item.id) AS item, item.active,
    coalesce(sum(result.n), 0) AS results, coalesce(sum(result.total), 0.0) AS total,
    sum(result.total) / sum(result.n) AS mean, item.byes
FROM mb_item item {_LEAGUE.format(of="item")}
LEFT JOIN {_RESULTS_BY_ITEM} ON result.league_id = item.league_id AND result.id = item.id
GROUP BY league.slug, item.id, item.name, item.active, item.byes""",
    "mb_results_by_week": f"""
SELECT league.slug AS league, {{week}} AS week, count(pair.outcome) AS results, count(*) - count(pair.outcome) AS void,
    coalesce(sum(pair.outcome), 0.0) AS total, avg(pair.outcome) AS mean
FROM mb_proposal_pair pair {_LEAGUE.format(of="pair")}
JOIN mb_change change ON change.league_id = pair.league_id AND change.version = pair.outcome_version
GROUP BY 1, 2""",
    "mb_proposed_pairs": f"""
SELECT league.slug AS league, pair.number AS proposal, {_FIRST} AS first, {_SECOND} AS second, pair.a AS first_id,
    pair.b AS second_id, proposal.policy, pair.fixed, asked.at AS proposed_at, asked.by AS proposed_by, proposal.due,
    pair.outcome, told.at AS recorded_at, told.by AS recorded_by
FROM mb_proposal_pair pair {_LEAGUE.format(of="pair")} {_NAMES.format(of="pair")}
JOIN mb_proposal proposal ON proposal.league_id = pair.league_id AND proposal.number = pair.number
JOIN mb_change asked ON asked.league_id = pair.league_id AND asked.version = proposal.version
LEFT JOIN mb_change told ON told.league_id = pair.league_id AND told.version = pair.outcome_version""",
    "mb_open_outcomes": """
SELECT league, proposal, first, second, first_id, second_id, proposed_at, proposed_by, due
FROM mb_proposed_pairs WHERE recorded_at IS NULL""",
    "mb_changes": f"""
SELECT league.slug AS league, change.version, change.at, change.by AS changed_by, change.action,
    {{proposal}} AS proposal, {_FIRST} AS first, {_SECOND} AS second,
    CASE change.action WHEN 'correct' THEN CAST({{part[2]}} AS double precision) END AS old_outcome,
    CAST(CASE change.action WHEN 'tell' THEN {{part[2]}} WHEN 'correct' THEN {{part[3]}} END AS double precision)
        AS new_outcome
FROM mb_change change {_LEAGUE.format(of="change")} LEFT JOIN {{parts}} ON true
LEFT JOIN mb_item first ON first.league_id = change.league_id
    AND first.id = CAST(coalesce({{part[0]}}, {{scalar}}) AS integer)
LEFT JOIN mb_item second ON second.league_id = change.league_id AND second.id = CAST({{part[1]}} AS integer)
    AND change.action <> 'join'""",
}
_DIALECTS = {
    "sqlite": {
        # the Thursday of a week tells its year, and that it is the k-th one
        "week": "strftime('%Y', change.at, '-3 days', 'weekday 4') || '-W' || printf('%02d', "
        "(strftime('%j', change.at, '-3 days', 'weekday 4') + 6) / 7)",
        "proposal": "json_extract(change.data, '$.proposal')",
        "parts": "json_each(coalesce(json_extract(change.data, '$.outcomes'), json_extract(change.data, '$.pairs'), "
        "json_extract(change.data, '$.items'))) part",
        "part": [f"json_extract(part.value, '$[{k}]')" for k in range(4)],
        "scalar": "part.value",
    },
    "postgresql": {
        "week": "to_char(change.at::timestamptz AT TIME ZONE 'UTC', 'IYYY-\"W\"IW')",
        "proposal": "data.proposal",
        # a function is called once for each change; an expression, for each of its parts
        "parts": "LATERAL json_to_record(change.data) AS data(proposal bigint, outcomes json, pairs json, items json) "
        "ON true LEFT JOIN LATERAL json_array_elements(coalesce(data.outcomes, data.pairs, data.items)) AS part(value)",
        "part": [f"(part.value ->> {k})" for k in range(4)],
        "scalar": "part.value #>> '{}'",
    },
}


def create_views(connection: Connection) -> None:
    """Create the views, or create them again as they are now."""
    for name in reversed(_VIEWS):
        connection.exec_driver_sql(f"DROP VIEW IF EXISTS {name}")
    for name, query in _VIEWS.items():
        sql = query.format(**_DIALECTS[connection.dialect.name])
        connection.exec_driver_sql(f"CREATE VIEW {name} AS {sql}")
