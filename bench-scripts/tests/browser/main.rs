//! report.html in a browser that has no network: what it shows, and what a reader can do with it.

#[path = "../common/mod.rs"]
mod common;
mod driver;
mod numbers;

use common::made::{copy, name_hostile};
use driver::Page;
use fantoccini::key::Key;
use rungs::findings::Findings;
use rungs::report::render;
use serde_json::{Value, json};
use tempfile::TempDir;

/// Renders a run and opens its report.
async fn open(run: &TempDir) -> (Page, Findings) {
    let findings = render(run.path()).unwrap().findings;
    let page = Page::open(&run.path().join("report.html")).await;
    page.until(DRAWN).await;
    (page, findings)
}

/// Every chart has its lines.
const DRAWN: &str =
    "[...document.querySelectorAll('.plot')].every(plot => plot.querySelector('.trace'))";

/// The entrants whose lines a chart shows, of all charts.
const SHOWN: &str = "return [...document.querySelectorAll('.plot')].map(plot =>
    [...new Set(plot.data.filter(trace => trace.fill !== 'toself').map(trace => trace.legendgroup))])";

const VIEWS: [&str; 5] = ["rate", "cost", "p50", "p99", "memory"];

fn label(entrant: &str) -> String {
    format!(".legend [data-entrant={}]", json!(entrant))
}

/// Chooses with the switch.
async fn choose(page: &Page, view: &str) {
    page.click(&format!("input[value={view}]")).await;
    page.until(&format!("location.hash.includes('view={view}')"))
        .await;
}

#[tokio::test]
async fn it_loads_nothing_and_complains_about_nothing() {
    let (page, findings) = open(&copy()).await;
    let lines = page
        .run("return document.querySelectorAll('.plot.main .lines .js-line').length")
        .await;
    let wanted = 2 * findings.entrants.len();
    assert_eq!(lines, json!(wanted), "a line and a band each");
    for view in VIEWS {
        choose(&page, view).await;
    }
    let requests = page
        .texts("return performance.getEntriesByType('resource').map(entry => entry.name)")
        .await;
    assert_eq!(requests, [""; 0]);
    assert_eq!(page.complaints().await, [""; 0]);
}

#[tokio::test]
async fn a_button_hides_an_entrant_in_every_chart_and_the_address_keeps_it() {
    let run = copy();
    let (page, _) = open(&run).await;
    let all = page.run(SHOWN).await;
    let hides_axum = |shown: Value| {
        let charts = shown.as_array().unwrap().clone();
        assert!(!charts.is_empty());
        charts
            .iter()
            .all(|chart| !chart.as_array().unwrap().contains(&json!("axum")))
    };
    page.click(&label("axum")).await;
    for view in VIEWS {
        choose(&page, view).await;
        assert!(hides_axum(page.run(SHOWN).await), "{view}");
    }
    let pressed = format!(
        "return document.querySelector({}).ariaPressed",
        json!(label("axum"))
    );
    assert_eq!(page.text(&pressed).await, "false");

    let address = page.text("return location.href").await;
    assert!(address.ends_with("#view=memory&hide=axum"), "{address}");
    page.go("about:blank").await;
    page.go(&address).await;
    page.until(DRAWN).await;
    assert!(hides_axum(page.run(SHOWN).await));
    let chosen = page
        .text("return document.querySelector('input:checked').value")
        .await;
    assert_eq!(chosen, "memory");

    page.click(&label("axum")).await;
    assert_eq!(page.run(SHOWN).await, all);
    assert_eq!(page.text(&pressed).await, "true");
}

#[tokio::test]
async fn the_keyboard_alone_is_enough() {
    let (page, _) = open(&copy()).await;
    let press = async |key: Key| {
        let focused = page.client().active_element().await.unwrap();
        focused
            .send_keys(&char::from(key).to_string())
            .await
            .unwrap();
    };
    let focus = "const at = document.activeElement; return at.value || at.dataset.entrant || at.className || at.href || at.tagName";
    // First the link that skips what stands before the results.
    press(Key::Tab).await;
    assert!(page.text(focus).await.contains("skip"));
    while page.text(focus).await != "cost" {
        press(Key::Tab).await;
    }
    press(Key::Right).await;
    page.until("document.querySelector('input:checked').value === 'p50'")
        .await;
    let unit = page
        .text("return document.querySelector('.unit:not([hidden])').textContent")
        .await;
    assert_eq!(
        unit,
        "latency, logarithmic scale · bands: lowest to highest round"
    );

    while page.text(focus).await != "epoll" {
        press(Key::Tab).await;
    }
    press(Key::Space).await;
    let shown = page.run(SHOWN).await;
    assert_eq!(shown[0], json!(["null", "mio", "hyper", "axum"]));

    while !page.text(focus).await.contains("main") {
        press(Key::Tab).await;
    }
    press(Key::End).await;
    page.until("document.querySelector('.hoverlayer .legendtext')")
        .await;
    let said = page
        .text("return document.activeElement.getAttribute('aria-valuetext')")
        .await;
    assert!(
        said.starts_with("at 1,000 connections: floor (null) "),
        "{said}"
    );
    assert!(!said.contains("epoll"), "{said}");
}

#[tokio::test]
async fn the_tables_show_what_the_findings_say() {
    let (page, findings) = open(&copy()).await;
    numbers::compare_tables(&page, &findings).await;
}

#[tokio::test]
async fn the_hover_boxes_show_what_the_findings_say() {
    let (page, findings) = open(&copy()).await;
    for view in VIEWS {
        choose(&page, view).await;
        numbers::compare_hover(&page, &findings, view).await;
    }
}

#[tokio::test]
async fn labels_are_text() {
    let run = copy();
    let hostile = "</script><img src=x onerror='window.harm=1'>\"&<b>x</b>%{y}";
    name_hostile(&run, hostile);
    let (page, _) = open(&run).await;
    let own = "[...document.querySelectorAll('.legend button span')].map(span => span.textContent)";
    assert!(
        page.texts(&format!("return {own}"))
            .await
            .contains(&hostile.to_owned())
    );
    page.run("Plotly.Fx.hover(document.querySelector('.plot.main'), { xval: 100 }, 'xy')")
        .await;
    page.until("document.querySelector('.hoverlayer .legendtext')")
        .await;
    let hover = page.texts("return [...document.querySelectorAll('.hoverlayer .legendtext')].map(text => text.textContent)").await;
    assert!(
        hover.iter().any(|line| line.starts_with(hostile)),
        "{hover:?}"
    );
    let cells = page.texts("return [...document.querySelectorAll('#cells tbody td:nth-child(3)')].map(cell => cell.textContent)").await;
    assert!(cells.contains(&hostile.to_owned()));
    let harm = page
        .run("return [window.harm === undefined, document.querySelectorAll('img').length]")
        .await;
    assert_eq!(harm, json!([true, 0]));
    assert_eq!(page.complaints().await, [""; 0]);
}

#[tokio::test]
async fn every_cell_can_be_found_and_sorted() {
    let (page, findings) = open(&copy()).await;
    let rows = "document.querySelectorAll('#cells tbody tr').length";
    let said = "return document.querySelector('#cells output').textContent";
    assert_eq!(page.text(said).await, "1 to 50 of 60");
    page.click("#cells [data-step='1']").await;
    assert_eq!(page.text(said).await, "51 to 60 of 60");

    let filter = async |column: u32, value: &str| {
        page.run(&format!(
            "const filter = document.querySelector('#cells select[data-column=\"{column}\"]');
             filter.value = '{value}'; filter.dispatchEvent(new Event('change'))"
        ))
        .await;
    };
    filter(11, "false").await;
    let invalid = findings.invalid_cells().count();
    assert_eq!(page.run(&format!("return {rows}")).await, json!(invalid));
    let reasons = page
        .text("return document.querySelector('#cells tbody').textContent")
        .await;
    assert!(
        reasons.contains("socket errors: 0 connect, 512 read"),
        "{reasons}"
    );

    filter(11, "").await;
    filter(2, "3").await;
    filter(3, "1000").await;
    page.click("#cells th:nth-child(7) button").await;
    page.click("#cells th:nth-child(7) button").await;
    let column = |number: u32| {
        format!(
            "return [...document.querySelectorAll('#cells tbody tr :nth-child({number})')].map(cell => cell.textContent)"
        )
    };
    assert_eq!(page.texts(&column(3)).await, ["hyper"; 3]);
    let costs = page.texts(&column(7)).await;
    let costs: Vec<f64> = costs.iter().map(|cost| cost.parse().unwrap()).collect();
    assert!(costs.is_sorted_by(|a, b| a >= b), "{costs:?}");
    let head = page
        .text("return document.querySelector('#cells th:nth-child(7)').ariaSort")
        .await;
    assert_eq!(head, "descending");
}

#[tokio::test]
async fn it_fits_a_phone() {
    let (page, _) = open(&copy()).await;
    let phone = json!({ "width": 390, "height": 844, "deviceScaleFactor": 2, "mobile": true });
    page.devtools("Emulation.setDeviceMetricsOverride", phone)
        .await;
    page.until("innerWidth === 390").await;
    let too_wide = page
        .texts(
            "return [...document.querySelectorAll('body *')].filter(element => element.getBoundingClientRect().right > 390.5
               && !element.closest('.scroll, pre, .skip, .drawing')).map(element => element.outerHTML.slice(0, 200))",
        )
        .await;
    assert_eq!(too_wide, [""; 0]);
    assert_eq!(
        page.run("return document.documentElement.scrollWidth")
            .await,
        json!(390)
    );
}

#[tokio::test]
async fn it_follows_the_light() {
    let (page, _) = open(&copy()).await;
    for (scheme, back, ink) in [
        ("dark", "rgb(20, 23, 26)", "rgb(232, 234, 237)"),
        ("light", "rgb(251, 251, 250)", "rgb(31, 35, 40)"),
    ] {
        let feature = json!({ "name": "prefers-color-scheme", "value": scheme });
        page.devtools(
            "Emulation.setEmulatedMedia",
            json!({ "features": [feature] }),
        )
        .await;
        let is = |selector: &str, name: &str, colour: &str| {
            format!("getComputedStyle(document.querySelector('{selector}')).{name} === '{colour}'")
        };
        page.until(&is("body", "backgroundColor", back)).await;
        page.until(&is(".plot.main .ytick text", "fill", ink)).await;
    }
}

#[tokio::test]
async fn paper_gets_drawings_instead_of_scripts() {
    let (page, _) = open(&copy()).await;
    page.devtools("Emulation.setEmulatedMedia", json!({ "media": "print" }))
        .await;
    page.until("matchMedia('print').matches").await;
    let visible = |selector: &str| {
        format!(
            "return [...document.querySelectorAll('{selector}')].filter(element => element.checkVisibility()).length"
        )
    };
    assert_eq!(
        page.run(&visible(".interactive, .plot, button, select, nav"))
            .await,
        json!(0)
    );
    assert_eq!(page.run(&visible(".drawing svg")).await, json!(6));
}
