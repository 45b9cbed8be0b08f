//! What the page looks like. Colours are here alone, so that their contrast can be computed.

use std::fmt::Write as _;

/// The colours of one scheme, as 0xRRGGBB.
#[derive(Debug, Clone, Copy)]
struct Palette {
    background: u32,
    text: u32,
    /// Less important text.
    dim: u32,
    link: u32,
    good: u32,
    warn: u32,
    /// Rules, and the empty part of a bar.
    line: u32,
    /// Level-1 categories, which stay apart for colour-blind readers (hues of Okabe and Ito, 2008), and the text on
    /// them.
    bars: [u32; 4],
    on_bars: u32,
    /// The second level-2 part of each, and the text on them.
    tints: [u32; 4],
    on_tints: u32,
}

const LIGHT: Palette = Palette {
    background: 0xFF_FF_FF,
    text: 0x1B_1B_1B,
    dim: 0x5A_5A_5A,
    link: 0x00_5A_9C,
    good: 0x00_6B_4C,
    warn: 0x9A_42_00,
    line: 0xD9_D9_D9,
    bars: [0x00_78_58, 0xB5_48_00, 0x80_5C_00, 0x00_67_A3],
    on_bars: 0xFF_FF_FF,
    tints: [0x9F_DC_C6, 0xFF_C4_9C, 0xEE_D5_8A, 0xA8_D4_F2],
    on_tints: 0x1B_1B_1B,
};

const DARK: Palette = Palette {
    background: 0x16_18_1B,
    text: 0xE8_E8_E8,
    dim: 0xA6_A6_A6,
    link: 0x7C_C4_F5,
    good: 0x4F_D1_A5,
    warn: 0xFF_9F_5A,
    line: 0x3A_3D_42,
    bars: [0x2C_B8_8E, 0xF0_80_40, 0xD9_A9_2F, 0x56_A9_E0],
    on_bars: 0x0B_0C_0D,
    tints: [0x14_5C_48, 0x7A_3A_14, 0x66_4E_10, 0x1F_50_74],
    on_tints: 0xF5_F5_F5,
};

const RULES: &str = "
body { font: 15px/1.5 system-ui, sans-serif; max-width: 72rem; margin: 2rem auto; padding: 0 1rem;
       background: var(--background); color: var(--text); }
h1 { font-size: 1.5rem; margin-bottom: .2rem; } h2 { font-size: 1.15rem; margin: 2.2rem 0 .5rem; }
a { color: var(--link); }
.dim { color: var(--dim); }
dl { display: grid; grid-template-columns: max-content 1fr; gap: .1rem .9rem; margin: .6rem 0; }
dt { color: var(--dim); } dd { margin: 0; overflow-wrap: anywhere; }
nav ol { columns: 12rem; padding-left: 1.6rem; margin: .3rem 0; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; margin: .6rem 0; }
.scroll { overflow-x: auto; }
th, td { padding: .15rem .7rem .15rem 0; border-bottom: 1px solid var(--line); text-align: left; white-space: nowrap; }
th { font-weight: 600; } .n { text-align: right; } .none { color: var(--dim); }
.equal { color: var(--good); } .differs { color: var(--warn); font-weight: 600; }
.bars { display: grid; grid-template-columns: max-content 1fr; gap: .25rem .8rem; align-items: center; }
.overview { grid-template-columns: max-content max-content 8rem 1fr; }
.overview.plain { grid-template-columns: max-content max-content 1fr; }
.bar { display: flex; height: 1.3rem; border-radius: 3px; overflow: hidden; background: var(--line); }
.bar span { overflow: hidden; font-size: .75rem; line-height: 1.3rem; text-align: center; white-space: nowrap; }
.small { height: .55rem; } .ipc { background: var(--dim); }
.legend { display: flex; flex-wrap: wrap; gap: .3rem 1.2rem; font-size: .85rem; margin: .5rem 0; }
.legend i { display: inline-block; width: .8em; height: .8em; border-radius: 2px; margin-right: .4em; }
";

/// The style sheet, for readers who prefer light and those who prefer dark.
pub(in crate::commands) fn sheet() -> String {
    let mut text = format!(":root {{ color-scheme: light dark; {} }}\n", variables(&LIGHT));
    let _ = writeln!(text, "@media (prefers-color-scheme: dark) {{ :root {{ {} }} }}", variables(&DARK));
    text += RULES.trim_start();
    for index in 0..LIGHT.bars.len() {
        let _ = writeln!(
            text,
            ".c{index} {{ background: var(--c{index}); color: var(--on-bars); }} .t{index} {{ background: \
             var(--t{index}); color: var(--on-tints); }}"
        );
    }
    text
}

fn variables(palette: &Palette) -> String {
    let Palette { background, text, dim, link, good, warn, line, bars, on_bars, tints, on_tints } = palette;
    let named = [
        ("background", background),
        ("text", text),
        ("dim", dim),
        ("link", link),
        ("good", good),
        ("warn", warn),
        ("line", line),
        ("on-bars", on_bars),
        ("on-tints", on_tints),
    ];
    let mut variables: Vec<String> = named.map(|(name, color)| format!("--{name}: #{color:06x};")).into();
    variables.extend(bars.iter().enumerate().map(|(index, color)| format!("--c{index}: #{color:06x};")));
    variables.extend(tints.iter().enumerate().map(|(index, color)| format!("--t{index}: #{color:06x};")));
    variables.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Relative luminance (WCAG 2.2).
    fn luminance(color: u32) -> f64 {
        let [_, red, green, blue] = color.to_be_bytes().map(|byte| {
            let part = f64::from(byte) / 255.0;
            if part <= 0.040_45 { part / 12.92 } else { ((part + 0.055) / 1.055).powf(2.4) }
        });
        0.2126 * red + 0.7152 * green + 0.0722 * blue
    }

    fn contrast(one: u32, other: u32) -> f64 {
        let (one, other) = (luminance(one), luminance(other));
        (one.max(other) + 0.05) / (one.min(other) + 0.05)
    }

    #[test]
    fn the_formula_is_that_of_wcag() {
        assert!((contrast(0xFF_FF_FF, 0) - 21.0).abs() < 1e-9);
        assert!((contrast(0xFF_FF_FF, 0x77_77_77) - 4.48).abs() < 0.01);
    }

    #[test]
    fn every_text_has_a_contrast_of_4_5_and_every_bar_of_3() {
        for (scheme, palette) in [("light", LIGHT), ("dark", DARK)] {
            for color in [palette.text, palette.dim, palette.link, palette.good, palette.warn] {
                let ratio = contrast(color, palette.background);
                assert!(ratio >= 4.5, "{scheme}: #{color:06x} on the page has {ratio:.2}");
            }
            let on = palette.bars.map(|bar| (palette.on_bars, bar));
            for (text, bar) in on.into_iter().chain(palette.tints.map(|tint| (palette.on_tints, tint))) {
                let ratio = contrast(text, bar);
                assert!(ratio >= 4.5, "{scheme}: #{text:06x} on #{bar:06x} has {ratio:.2}");
            }
            for bar in palette.bars {
                let ratio = contrast(bar, palette.background);
                assert!(ratio >= 3.0, "{scheme}: bar #{bar:06x} on the page has {ratio:.2}");
            }
        }
    }

    #[test]
    fn both_schemes_are_in_the_sheet() {
        let sheet = sheet();
        for color in [LIGHT.background, DARK.background, LIGHT.bars[3], DARK.tints[0]] {
            assert!(sheet.contains(&format!("#{color:06x}")), "{color:06x}");
        }
        assert!(sheet.contains("prefers-color-scheme: dark"));
    }
}
