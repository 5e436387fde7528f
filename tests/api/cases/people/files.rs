//! Files of spreadsheets in, tables and reports out.

use super::*;
use crate::exports::{cells, column, pages};
use std::{fs, path::Path};

pub(super) const HEADER: &str =
    "company_name;description;vat_number;address;city;main_contact;email;phone;language;notes";

api_test!(files_are_read_as_spreadsheets_save_them, |t| async move {
    let tree = t.tree().await;
    let owner = t.owner().await;
    let d = t.user(tree.distributor, &["admin"]).await;
    let template = t.get("/api/customers/import/template").bearer(&d.token).send().await.expect(200).text();
    // As an Italian Excel saves the template: `;`, Windows-1252, CRLF, a row of separators at the end.
    let rows: Vec<String> = cells(&template)
        .iter()
        .map(|row| {
            let quoted = row.iter().map(|c| if c.contains(';') { format!("\"{c}\"") } else { c.clone() });
            quoted.collect::<Vec<_>>().join(";")
        })
        .collect();
    let italian = format!("{}\r\n;;;;;;;;;\r\n", rows.join("\r\n")).replace(";it;", ";IT;");
    let utf16: Vec<u8> = [0xff, 0xfe]
        .into_iter()
        .chain(
            format!("{}\nTab;;V9;;;;;;;", HEADER)
                .replace(';', "\t")
                .encode_utf16()
                .flat_map(u16::to_le_bytes),
        )
        .collect();
    for (what, file, names) in [
        ("template", italian.into_bytes(), vec!["Example One Srl", "Example Two Ltd"]),
        (
            "windows-1252",
            [HEADER.as_bytes(), b"\r\nSociet\xe0 dell\x92Acqua;;V1;;;;;;it;\x80 5\r\n"].concat(),
            vec!["Società dell’Acqua"],
        ),
        ("sep=", format!("sep=;\r\n{HEADER}\r\nUno;;V2;;;;;;;\r\n").into_bytes(), vec!["Uno"]),
        ("comma in a cell", format!("{HEADER}\nUno, Due;;V3;;;;;;EN;\n").into_bytes(), vec!["Uno, Due"]),
        (
            "a blank before a quote",
            format!("{}\nUno, \"a, b\",V4,,,,,,,\n", HEADER.replace(';', ",")).into_bytes(),
            vec!["Uno"],
        ),
        ("tab and UTF-16", utf16, vec!["Tab"]),
        (
            "blank rows",
            format!("\n{HEADER}\n;;;;;;;;;\nUno;;V5;;;;;;;\n\"\";;;;;;;;;\n  \n").into_bytes(),
            vec!["Uno"],
        ),
    ] {
        let preview = upload(&t, &d, "customers", &file).await.expect(200).data();
        let valid = vec!["valid:"; names.len()];
        assert_eq!(row_issues(&preview), valid, "{what}");
        let found: Vec<&str> = preview["rows"]
            .as_array()
            .unwrap()
            .iter()
            .map(|row| row["data"]["company_name"].as_str().unwrap())
            .collect();
        assert_eq!(found, names, "{what}");
        assert!(["it", "en"].contains(&preview["rows"][0]["data"]["language"].as_str().unwrap()), "{what}");
    }
    let file = format!("{HEADER}\nA\u{92}B;;V6;;;C\u{202e};not-an-email;;;\n");
    let preview = upload(&t, &owner, "customers", &file).await.expect(200).data();
    assert_eq!(
        row_issues(&preview),
        [
            "error: company_name invalid_format [A\u{92}B]; main_contact invalid_format [C\u{202e}]; email invalid_format [not-an-email]"
        ]
    );
});

api_test!(exports_have_no_formula_for_any_list_separator, |t| async move {
    let tree = t.tree().await;
    let owner = t.owner().await;
    let formula = "Acme;=cmd|'/C calc'!A0;x";
    let body =
        json!({"name": formula, "description": "a\n=1+1\tb\t@SUM(1)\r\n - x", "custom_data": {"vat": "F1"}});
    post(&t, &owner, "/api/customers", &body).await.expect(201);
    post(
        &t,
        &owner,
        "/api/users",
        &json!({"name": formula, "email": "f@x.example", "user_role_ids": ["reader"],
        "organization_id": tree.customer}),
    )
    .await
    .expect(201);
    post(
        &t,
        &owner,
        "/api/systems",
        &json!({"name": formula, "organization_id": tree.customer, "notes": "a\n@x"}),
    )
    .await
    .expect(201);
    for kind in ["customers", "users", "systems"] {
        let file =
            t.get(&format!("/api/{kind}/export?format=csv")).bearer(&owner.token).send().await.expect(200);
        let file = file.text();
        for separator in [';', '\t'] {
            for cell in file.split([separator, '\n', '\r']) {
                let cell = cell.trim_start_matches([' ', '"']);
                assert!(!cell.starts_with(['=', '+', '-', '@']), "{kind} read with {separator:?}: {cell}");
            }
        }
        assert!(column(&file, "Name").contains(&"Acme;'=cmd|'/C calc'!A0;x".to_owned()), "{file}");
    }
});

/// Whether a font that is installed on this machine draws the character.
fn is_drawn_here(folder: &Path, c: char) -> bool {
    let draws = |file: &Path| {
        let is_font =
            file.extension().is_some_and(|end| ["ttf", "otf", "ttc", "otc"].iter().any(|e| end == *e));
        let fonts = is_font.then(|| bailiwick_export::coverage(&fs::read(file).ok()?).ok()).flatten();
        fonts.into_iter().flatten().flatten().any(|(first, last)| (first..=last).contains(&u32::from(c)))
    };
    let entries = fs::read_dir(folder).into_iter().flatten().filter_map(|entry| Some(entry.ok()?.path()));
    entries.into_iter().any(|path| if path.is_dir() { is_drawn_here(&path, c) } else { draws(&path) })
}

api_test!(reports_show_every_row, |t| async move {
    let owner = t.owner().await;
    let mut ids = Vec::new();
    let names = ["شركة المياه", "株式会社アクメ", "\u{1f600}\u{1f680}", "Ａｃｍｅ", "Łódź Ωμέγα Ёлка", "☃"];
    for (i, name) in names.into_iter().enumerate() {
        let body = json!({"name": name, "custom_data": {"vat": format!("P{i}")}});
        let made = post(&t, &owner, "/api/customers", &body).await.expect(201).data();
        ids.push(made["id"].as_str().unwrap().to_owned());
    }
    let file = t.get("/api/customers/export?format=pdf").bearer(&owner.token).send().await.expect(200);
    let text = pages(&file.body);
    let shows = |text: &str, index: usize| (text.contains(names[index]), text.contains(&ids[index]));
    // Letters that change with their neighbours are drawn by nothing here.
    assert_eq!(shows(&text, 0), (false, true), "{text}");
    // A font of the machine draws these, if there is one.
    for index in [1, 2] {
        assert_ne!(shows(&text, index).0, shows(&text, index).1, "{text}");
    }
    assert!(text.contains("Acme") && !text.contains(&ids[3]), "{text}");
    assert_eq!(shows(&text, 4), (true, false), "{text}");
    let is_drawn = ["/usr/share/fonts", "/usr/local/share/fonts"]
        .iter()
        .any(|folder| is_drawn_here(Path::new(folder), '☃'));
    assert_eq!(shows(&text, 5), (is_drawn, !is_drawn), "{text}");
    assert!(text.contains("Ids and"), "{text}");
});
