"""Pytest plugin: marks the tests of the night, which `script/test` leaves out and `script/test --all` runs.

The standard run proves once whatever a change can break. What is repeated, slow or foreign is in `NIGHT`, each place under the
reason why. Two lists take tests out again: `STANDARD`, and tests/INVARIANTS.md, of whose tests the first case stays, `UPGRADES`
excepted.
"""

import re
from functools import cache
from pathlib import Path, PurePath
from typing import Final

import pytest

from tests.tree import ROOT

OTHER_CASES: Final = "[1:]"
"""After a test's name: all of its cases but the first."""

NIGHT: Final[dict[str, tuple[str, ...]]] = {
    "Every act, page and screen in Chromium: views and forms are tested without it": ("tests/browser",),
    "Every moment of a kill, and every trouble of a node or an engine, before an installation of processes": (
        "tests/faults",
        "tests/accounts/requests/test_web_process.py",
        "tests/wallets/management/commands/test_run_watchers.py",
        "tests/wallets/test_watcher_process.py::test_a_pushed_block_is_read_before_the_next_poll[1:]",
        "tests/wallets/test_watcher_process.py::test_a_pushed_payment_on_solana_is_read_before_the_next_poll",
        "tests/wallets/watchers/test_account_reads.py::test_one_account_that_cannot_be_read_does_not_hold_up_the_others[1:]",
        "tests/webhooks/management/commands/test_run_sender.py::test_killed_in_the_middle_of_a_post_nothing_is_lost",
        "tests/x402/byhash/test_service_closed.py::test_a_connection_that_closes_while_a_node_is_asked_uses_nothing_up",
        "tests/x402/exact/test_facilitator_settle_crashes.py",
        "tests/checkouts/gas_free/test_hostile.py",
        "tests/checkouts/gas_free/test_co_signed_troubles.py::test_a_process_that_is_killed_while_it_sends_leaves_what_the_next_beat_sends",
        "tests/checkouts/gas_free/test_co_signed_troubles.py::test_all_hostile_payers_together_cost_the_stated_bound",
        "tests/payouts/test_authorizations.py::test_what_a_reorg_takes_back_before_it_is_final_is_sent_again_by_the_ledger_and_paid_once",
        "tests/payouts/test_authorizations.py::test_what_a_reorg_takes_back_after_it_was_final_is_reversed_and_not_sent_again_by_itself",
        "tests/payouts/test_following_chains.py::test_a_reorg_takes_it_back_and_another_transaction_pays[1:]",
        "tests/payouts/test_transactions_reorgs.py",
        "tests/x402/exact/solana/test_rail_crowds.py::test_killed_before_or_after_sending_it_is_settled_once_by_whoever_asks_next",
        "tests/gateway/core/embedded/test_engines_leftovers.py",
        "tests/gateway/core/embedded/test_supervisor.py",
    ),
    "Deployment, failover, backups, upgrades and older releases: programs of others, and minutes": (
        "tests/deploy/failover",
        "tests/deploy/test_backups.py",
        "tests/deploy/test_cluster_access.py::test_patroni_lets_nobody_change_the_cluster[1:]",
        "tests/deploy/test_cluster_proxy.py",
        "tests/deploy/test_containers.py::test_web_containers_are_replaced_one_by_one",
        "tests/deploy/test_database_role.py::test_it_migrates_runs_the_checks_and_is_backed_up",
        "tests/deploy/test_deb.py",
        "tests/deploy/test_drill.py",
        "tests/deploy/test_failover.py::test_no_accepted_checkout_is_lost_or_doubled_when_the_primary_dies",
        "tests/deploy/test_foreign_folders.py::test_a_backup_counts_only_as_its_signer_left_it[1:]",
        "tests/deploy/test_image.py",
        "tests/deploy/test_kubernetes.py::test_kustomize_builds_the_example_and_the_schemas_of_kubernetes_accept_it",
        "tests/deploy/test_observability_faults.py",
        "tests/deploy/test_old_release.py",
        "tests/deploy/test_replica.py",
        "tests/deploy/test_upgrade_load.py",
    ),
    "The demo and development's server: each starts all of Florin and six chains": (
        "tests/demo/test_older.py",
        "tests/demo/debug/test_settings.py",
        "tests/demo/shop/test_server.py::test_no_webhook_body_breaks_the_page_or_gets_into_it[1:]",
        "tests/demo/shop/test_server.py::test_the_wallet_says_why_it_does_not_pay[1:]",
        "tests/demo/management/commands/test_demo.py",
        "tests/demo/management/commands/test_dev.py",
    ),
    "Optional chains after the first: each needs a node of its own, and differs by its facts alone": (
        "tests/wallets/chains/test_optional_chains.py::test_a_checkout_is_paid_and_stays_readable_after_the_node_was_taken_away[1:]",
        "tests/wallets/chains/test_optional_chains.py::test_a_machine_pays_a_part_of_a_maximum_where_the_standards_contract_is[1:]",
        "tests/wallets/chains/test_optional_chains.py::test_a_machine_pays_by_a_hash[1:]",
        "tests/wallets/chains/test_optional_chains.py::test_a_machine_pays_by_a_signature_where_the_token_takes_one[1:]",
    ),
    "The local chains' own behaviour, and the demo's wallets after the first: by day hundreds of tests pay on these chains": (
        "localnet/tests/test_anvil.py",
        "localnet/tests/test_examples.py::test_each_node_starts_and_is_paid_on_as_the_readme_says[1:]",
        "localnet/tests/test_solana.py",
        "localnet/tests/test_ton.py",
        "tests/demo/test_wallets.py::test_a_payment_follows_the_link_unless_it_is_typed_by_hand[1:]",
        "tests/demo/test_wallets.py::test_a_wallet_sends_exactly_the_amount_and_nothing_when_it_has_too_little[1:]",
    ),
    "Clients and libraries of others, and examples in PHP, Go and TypeScript": (
        "tests/browser/test_django_shop.py",
        "tests/clients/test_compatibility.py::test_each_client_gets_at_each_seller_what_the_guide_says",
        "tests/clients/test_compatibility.py::test_each_way_to_pay_ends_as_the_guide_says",
        "tests/clients/test_conformance.py::test_a_proxy_on_another_machine_gets_no_key_in_the_open[1:]",
        "tests/clients/test_conformance.py::test_phps_package_is_archived_and_installed_by_composer",
        "tests/clients/test_conformance.py::test_pauses_double_and_half_of_each_is_chance[1:]",
        "tests/clients/test_conformance.py::test_a_program_compiles_against_the_types_that_are_installed",
        "tests/clients/test_conformance.py::test_each_transport_does_what_the_suite_says",
        "tests/clients/test_django_payments.py",
        "tests/clients/test_distributions.py",
        "tests/clients/test_documentation.py",
        "tests/clients/test_live.py",
        "tests/clients/test_live_command_line.py",
        "tests/clients/test_mcp.py",
        "tests/clients/test_mpp.py",
        "tests/greenfield/test_published.py",
        "tests/contract/test_typescript_guides.py::test_an_error_of_types_and_what_nodejs_cannot_strip_are_found_where_they_are",
        "tests/contract/test_typescript_guides.py::test_every_typescript_program_has_the_types_that_it_says",
        "tests/clients/test_published.py",
        "tests/contract/test_guide_examples.py",
        "tests/contract/test_openapi_lint.py::test_generated_classes_of_python_take_a_minimal_body",
        "tests/contract/test_openapi_lint.py::test_generated_types_of_typescript_take_a_minimal_body",
        "tests/contract/test_quickstart.py::test_a_checkout_is_created_paid_and_read",
        "tests/checkouts/lifecycle/test_signed_receipts_foreign.py",
        "tests/payouts/test_safe_kit.py",
        "tests/reports/accountant/test_foreign.py",
        "tests/webhooks/test_signatures_guides.py",
        "tests/x402/exact/middlewares",
        "tests/x402/exact/test_facilitator_settle_differential.py",
        "tests/x402/exact/test_facilitator_settle_published.py",
    ),
    "The statuses of shops' invoices on a local chain: they follow from those of checkouts, which are tried there by day": (
        "tests/greenfield/test_chain.py",
    ),
    "Random inputs, and sources compiled again": (
        "tests/contract/test_fuzz.py",
        "tests/wallets/forwarders/test_contracts_fuzz.py",
        "tests/wallets/forwarders/contracts/test_compile.py",
        "tests/invariants/test_money.py::test_the_machine_finds_a_planted_fault[1:]",
        "tests/simulation/test_machines.py",
    ),
    "Crowds and large tables: about speed and memory, which a change seldom touches": (
        "tests/accounts/login/test_hashers.py::test_fifty_logins_at_once_take_little_memory_and_time",
        "tests/checkouts/attribution/test_candidates.py::test_exact_payments_among_twenty_thousand_open_checkouts",
        "tests/checkouts/attribution/test_candidates.py::test_two_hundred_payments_among_twenty_thousand_open_checkouts_take_a_moment",
        "tests/checkouts/attribution/test_queue.py::test_a_rush_at_one_price_keeps_no_other_merchant_waiting",
        "tests/checkouts/inbox/test_suggestions.py::test_what_is_open_is_found_without_reading_what_is_resolved",
        "tests/concurrency/test_reservations.py::test_choices_at_once_give_every_amount_once_and_then_a_clean_refusal",
        "tests/gateway/core/api/test_rate_limits.py::test_eight_processes_at_once_get_exactly_the_limit_through",
        "tests/reports/dashboard/test_search.py::test_every_question_is_answered_by_an_index",
        "tests/reports/test_api_csv.py::test_ten_times_the_lines_take_no_more_memory",
        "tests/reports/test_summaries.py::test_reports_read_an_index_however_many_others_received",
        "tests/wallets/watchers/test_accounts_both_directions.py::test_ten_thousand_watched_wallets_delay_nobody_and_keep_to_the_budget",
        "tests/x402/exact/test_waiting.py::test_whoever_pays_is_served",
    ),
    "Waits that the product's own clocks ask for": (
        "tests/checkouts/page/streaming/test_application.py::test_a_change_whose_bell_was_missed_is_found_by_the_sweep",
        "tests/checkouts/page/streaming/test_application.py::test_a_stream_server_speaks_http_1_only_and_waits_ten_seconds_for_headers",
        "tests/checkouts/page/streaming/test_application.py::test_confirmations_are_told_as_blocks_come_though_no_block_rings",
        "tests/checkouts/page/streaming/test_application.py::test_without_valkey_streams_open_and_tell",
        "tests/checkouts/page/streaming/test_hub_listener.py::test_lost_connections_to_postgresql_are_made_again_and_nothing_is_missed",
        "clients/python/tests/test_closed.py::test_an_endless_answer_ends",
        "tests/gateway/management/commands/test_schema.py::test_a_table_that_is_held_is_not_waited_for_long",
        "tests/mails/test_sender.py::test_a_send_that_takes_too_long_is_broken_off_and_counts_as_a_try",
        "tests/wallets/chains/rpc/test_notices.py::test_a_flood_of_notices_is_read_slowly",
        "tests/wallets/chains/rpc/test_notices.py::test_a_new_subscription_is_made_on_the_same_connection_and_each_only_once",
        "tests/wallets/chains/rpc/test_notices.py::test_a_node_that_accepts_and_hangs_up_is_asked_ever_less_often",
        "tests/wallets/chains/rpc/test_notices.py::test_a_node_that_pushes_nothing_is_asked_again_and_its_key_stays_secret[1:]",
        "tests/wallets/chains/rpc/test_notices.py::test_there_are_never_too_many_subscriptions",
        "tests/wallets/chains/rpc/test_notices.py::test_without_subscriptions_there_is_no_connection",
        "tests/wallets/reconciliation/test_report.py::test_a_node_that_does_not_answer_is_told_and_delays_nothing",
        "tests/wallets/test_lookup.py::test_one_deadline_stands_over_all_chains",
        "tests/wallets/watchers/test_accounts_both_directions.py::test_watched_wallets_that_cannot_be_read_are_no_failure_of_their_chain",
        "tests/webhooks/delivery/test_sender.py::test_a_lease_that_ended_lets_another_sender_take_over",
    ),
    "What the suite itself relies on, in processes and databases of its own: a change of the product seldom touches it": (
        "tests/gateway/core/embedded/test___main__.py::test_shared_engines_end_when_their_last_user_leaves",
        "tests/test_plugins.py::test_a_run_tells_its_progress_what_failed_and_what_was_slow[1:]",
        "tests/test_plugins.py::test_a_template_of_a_dump_is_like_the_one_that_was_migrated",
        "tests/test_plugins.py::test_one_worker_runs_a_group[1:]",
        "tests/test_plugins.py::test_what_is_left_out_is_not_measured_and_all_else_is",
    ),
    "What a fresh process imports, and the whole tree read anew: slow to ask, and seldom otherwise": (
        "tests/test_pythons.py::test_the_lock_files_are_complete_since_installers_add_nothing[1:]",
        "tests/diagrams/test_documents.py::test_the_command_checks_the_diagrams",
        "tests/diagrams/test_walk.py",
        "tests/gateway/test_apps.py::test_a_server_without_the_extra_starts",
        "tests/gateway/test_celery.py::test_a_worker_shares_what_it_imported_with_its_pool",
        "tests/gateway/test_rsgi.py",
        "tests/gateway/tracing/test_start.py::test_a_process_without_a_collector_does_not_load_it",
        "tests/gateway/tracing/test_start.py::test_its_steps_are_one_trace_across_processes",
        "tests/gateway/tracing/test_start.py::test_links_lead_to_the_request_the_task_and_the_watcher",
        "tests/gateway/tracing/test_start.py::test_database_and_nodes_are_in_traces",
        "tests/gateway/tracing/test_start.py::test_no_attribute_has_an_id_or_an_address",
        "tests/gateway/tracing/test_start.py::test_it_is_drawn",
        "tests/gateway/tracing/test_start.py::test_a_scrape_of_real_processes_has_the_metrics_of_alerts_and_dashboards",
        "tests/wallets/chains/tron/test_keys.py::test_without_coincurve_tronpy_makes_and_accepts_the_same_signatures",
        "tests/demo/test_wallets.py::test_wallets_of_two_processes_never_sign_with_one_number",
        "tests/simulation/test_simulation.py::test_to_the_letter_late_payers_of_round_prices_pay_for_strangers_and_are_told",
        "tests/test_declared.py",
        "tests/test_lock_imports.py",
    ),
}
"""Why tests are at night, and which: a folder, a module, a test, or its cases but the first."""

STANDARD: Final = frozenset(
    {
        # What people do, once each in Chromium.
        "tests/browser/test_checkout_page.py::test_the_qr_code_on_the_screen_holds_the_plain_address",
        "tests/browser/test_checkout_page.py::test_without_scripts_the_page_still_takes_a_choice",
        "tests/browser/test_dashboard_checkouts.py::test_a_search_leads_to_the_checkout_from_any_page",
        "tests/browser/test_dashboard_shell.py::test_removing_somebody_asks_first",
        "tests/browser/test_end_to_end.py::test_a_buyer_pays_with_a_browser_wallet_and_the_shop_is_told",
        "tests/browser/test_inbox.py::test_without_scripts_an_item_is_decided_and_undone",
        "tests/browser/test_keyboard.py::test_a_buyer_chooses_copies_and_asks_for_help_by_keyboard_alone",
        "tests/browser/test_languages.py::test_arabic_begins_at_the_right_and_amounts_stay_as_people_type_them",
        "tests/browser/test_links.py::test_an_invoice_is_paid_and_closes_itself",
        "tests/browser/test_login.py::test_a_passkey_is_added_and_logs_in_without_a_password",
        "tests/browser/test_login.py::test_from_signing_up_to_the_dashboard",
        "tests/browser/test_operator.py::test_an_operator_comes_in_by_the_only_login_with_password_and_code",
        "tests/browser/test_rescue.py::test_a_buyer_asks_by_keyboard_and_reads_the_answer_at_once",
        "tests/browser/test_settings.py::test_a_key_is_made_works_and_is_revoked",
        "tests/browser/test_settings.py::test_a_wallet_is_added_then_changed_and_the_change_is_cancelled",
        "tests/browser/test_solana_wallet.py::test_a_buyer_pays_and_the_checkout_completes",
        "tests/browser/test_streams.py::test_a_page_that_never_polls_changes_by_its_stream",
        "tests/browser/test_wallets.py::test_a_double_click_pays_once",
        "tests/browser/test_wallets.py::test_the_wallet_is_asked_for_one_transfer_of_the_amount_to_the_address",
        "tests/browser/test_webhooks_desk.py::test_a_delivery_that_failed_arrives_when_it_is_sent_again",
        "tests/browser/test_x402_pages.py::test_an_owner_sets_up_what_machines_need",
        # A page of each layout that axe looks at, and that it would find something. The others are looked at by night.
        "tests/browser/test_inbox.py::test_pages_are_accessible_and_fit_the_screen[item]",
        "tests/browser/test_screenshots.py::test_axe_sees_words_too_faint_to_read_and_a_control_without_a_name",
        "tests/browser/test_screenshots.py::test_every_error_page_is_whole_on_every_screen_and_clean_for_axe[404]",
        "tests/browser/test_screenshots.py::test_every_state_is_whole_on_every_screen_and_clean_for_axe[pending]",
        # One of each kind that is at night otherwise.
        "tests/contract/test_quickstart.py::test_a_checkout_is_created_paid_and_read[python]",
        "tests/demo/debug/test_settings.py::test_settings_of_development_do_not_load_in_production[production-demo.front.settings]",
        "tests/deploy/test_backups.py::test_a_damaged_backup_is_no_good_one",
        "tests/deploy/test_image.py::test_the_containerfile_ends_as_nobody_with_a_health_check",
        "tests/deploy/test_observability_faults.py::test_each_alert_has_a_fault",
        "tests/faults/test_fence.py::test_a_watcher_that_lost_its_lease_cannot_write_what_it_read[accounts]",
        "tests/gateway/core/embedded/test_supervisor.py::test_a_killed_engine_is_started_again_with_its_data[postgres]",
        "tests/gateway/core/embedded/test_supervisor.py::test_both_engines_answer_under_the_urls_that_start_returns",
        "tests/gateway/core/embedded/test_supervisor.py::test_no_engine_listens_on_a_network_port",
        "tests/gateway/core/embedded/test_supervisor.py::test_passwords_are_in_private_files_and_in_no_command_line",
        "tests/demo/management/commands/test_dev.py::test_the_first_change_that_contributing_walks_through_fits_the_tree",
        "tests/wallets/management/commands/test_run_watchers.py::test_a_node_of_another_chain_is_refused_loudly",
        "tests/wallets/management/commands/test_run_watchers.py::test_it_reads_each_chain_and_ends_when_told_with_its_lease_given_back",
    }
)
"""Tests of the standard run, although what they stand in is at night."""

UPGRADES: Final = ("tests/deploy/test_old_release.py", "tests/deploy/test_upgrade_load.py")
"""Tests of INVARIANTS.md that are at night all the same: each runs two releases, or replaces all processes, for a minute."""

_REASONS: Final = {place: reason for reason, places in NIGHT.items() for place in places}


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Mark the tests of the night before pytest chooses by marks. Its reason is the mark's argument."""
    if not any("::" in where for where in config.args):
        _refuse_cases_that_are_not_there({item.nodeid for item in items})
    for item in items:
        if reason := why_at_night(item.nodeid, is_first=_is_first(item)):
            item.add_marker(pytest.mark.night(reason))


@pytest.hookimpl
def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Import no module of the night where the night is left out."""
    if "not night" not in config.option.markexpr or not collection_path.is_relative_to(ROOT):
        return None
    return is_all_at_night(collection_path.relative_to(ROOT).as_posix()) or None


def is_all_at_night(module: str) -> bool:
    """Whether a place of the night has a whole module of tests, of which nothing is taken out again."""
    is_of_tests = PurePath(module).name.startswith("test_")
    return is_of_tests and not _REASONS.keys().isdisjoint(around(module)) and module not in _taken_out()


@cache
def _taken_out() -> frozenset[str]:
    """The modules of tests that are in the standard run wherever they stand."""
    invariants = {test for test in invariant_tests() if not test.startswith(UPGRADES)}
    return frozenset(test.partition("::")[0] for test in STANDARD | invariants)


def why_at_night(node_id: str, *, is_first: bool) -> str:
    """Why a test, or the case of one, is not in the standard run; empty if it is. `is_first`: no case comes before it."""
    test = node_id.partition("[")[0]
    if STANDARD & {node_id, test} or (is_first and test in invariant_tests() and not test.startswith(UPGRADES)):
        return ""
    others = [] if is_first else [test + OTHER_CASES]
    return next((_REASONS[place] for place in [*around(test), *others] if place in _REASONS), "")


def around(test: str) -> list[str]:
    """A test, its module, and the folders that it is in."""
    module = test.partition("::")[0]
    return [test, module, *(str(folder) for folder in PurePath(module).parents)]


@cache
def invariant_tests() -> frozenset[str]:
    """The tests and controls that tests/INVARIANTS.md names."""
    table = (ROOT / "tests" / "INVARIANTS.md").read_text()
    return frozenset(re.findall(r"`((?:clients/python/tests|tests/[^`]+)/test_[^`]+::[^`]+)`", table))


def _refuse_cases_that_are_not_there(node_ids: set[str]) -> None:
    modules = {node_id.partition("::")[0] for node_id in node_ids}
    cases = {place for place in STANDARD if place.endswith("]") and place.partition("::")[0] in modules}
    if missing := sorted(cases - node_ids):
        raise pytest.UsageError(f"tests/night.py names cases that are not there: {missing}")


def _is_first(item: pytest.Item) -> bool:
    case = getattr(item, "callspec", None)
    return case is None or not any(case.indices.values())
