//! Names for synthetic people, companies and machines. All domains end in `.example`; addresses are documentation ones.

use super::random::Dice;

/// The country of an organization; determines the form of its name, VAT number and phone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Country {
    Italy,
    Germany,
    France,
}

impl Country {
    /// Most are Italian.
    pub(super) fn any(dice: &Dice) -> Country {
        match dice.below(20) {
            0..=2 => Country::Germany,
            3..=5 => Country::France,
            _ => Country::Italy,
        }
    }

    /// Language code of the organization's people.
    pub(super) const fn language(self) -> &'static str {
        match self {
            Country::Italy => "it",
            Country::Germany => "de",
            Country::France => "fr",
        }
    }

    /// Calling code, digits only.
    pub(super) const fn calling_code(self) -> &'static str {
        match self {
            Country::Italy => "39",
            Country::Germany => "49",
            Country::France => "33",
        }
    }

    pub(super) const fn cities(self) -> &'static [&'static str] {
        match self {
            Country::Italy => &[
                "Milano", "Torino", "Roma", "Pesaro", "Ancona", "Bologna", "Firenze", "Napoli", "Bari",
                "Palermo", "Verona", "Padova", "Trento", "Bolzano", "Genova", "Perugia", "Rimini", "Lecce",
                "Cagliari", "Udine",
            ],
            Country::Germany => {
                &["München", "Köln", "Hamburg", "Leipzig", "Nürnberg", "Bremen", "Ulm", "Mainz"]
            }
            Country::France => &["Lyon", "Nantes", "Lille", "Nîmes", "Rennes", "Grenoble", "Dijon", "Angers"],
        }
    }

    const fn first_names(self) -> &'static [&'static str] {
        match self {
            Country::Italy => &[
                "Anna",
                "Marco",
                "Giulia",
                "Luca",
                "Chiara",
                "Paolo",
                "Sara",
                "Davide",
                "Elena",
                "Matteo",
                "Laura",
                "Andrea",
                "Nicolò",
                "Silvia",
                "Federico",
                "Marta",
                "Giorgio",
                "Irene",
                "Stefano",
                "Valentina",
            ],
            Country::Germany => &["Jürgen", "Anke", "Lukas", "Heike", "Jonas", "Greta", "Stefan", "Birgit"],
            Country::France => &["Élodie", "Luc", "Camille", "Hugo", "Noémie", "Antoine", "Claire", "Rémi"],
        }
    }

    const fn surnames(self) -> &'static [&'static str] {
        match self {
            Country::Italy => &[
                "Rossi",
                "Bianchi",
                "Ferrari",
                "Esposito",
                "Colombo",
                "Ricci",
                "Marino",
                "Greco",
                "Conti",
                "Galli",
                "Fontana",
                "Moretti",
                "Barbieri",
                "Lombardi",
                "Serra",
                "Villa",
                "De Luca",
                "Caruso",
                "Leone",
                "Gatti",
                "Pellegrini",
                "Sanna",
                "Vitali",
                "Orlando",
                "Neri",
                "Basile",
                "Piras",
                "Bellini",
                "Grassi",
                "Farina",
            ],
            Country::Germany => {
                &["Müller", "Schäfer", "Vogel", "Braun", "Krüger", "Weiß", "Lang", "Böhm", "Seidel"]
            }
            Country::France => {
                &["Lefèvre", "Moreau", "Girard", "Noël", "Faure", "Chevalier", "Renaud", "Béraud"]
            }
        }
    }

    const fn trades(self) -> &'static [&'static str] {
        match self {
            Country::Italy => &[
                "Informatica",
                "Servizi",
                "Costruzioni",
                "Impianti",
                "Logistica",
                "Arredi",
                "Meccanica",
                "Sistemi",
                "Grafica",
                "Alimentari",
                "Trasporti",
                "Consulting",
                "Tessuti",
                "Edilizia",
                "Farmacie",
                "Reti",
            ],
            Country::Germany => &["Systemhaus", "Maschinenbau", "Logistik", "Haustechnik", "Druck", "Netze"],
            Country::France => &["Informatique", "Bâtiment", "Transports", "Conseil", "Réseaux", "Mécanique"],
        }
    }

    const fn forms(self) -> &'static [&'static str] {
        match self {
            Country::Italy => &["Srl", "SpA", "Snc", "Srls", "Sas", "Coop"],
            Country::Germany => &["GmbH", "AG", "KG"],
            Country::France => &["SARL", "SAS", "SA"],
        }
    }

    /// A VAT number that no other `(series, n)` has: three digits of the series, at most six of `n`.
    pub(super) fn vat(self, series: u64, n: u64) -> String {
        let digits = format!("{:06}{:03}", n % 1_000_000, series % 1000);
        match self {
            Country::Italy => format!("IT0{digits}{}", check_digit(&digits)),
            Country::Germany => format!("DE{digits}"),
            Country::France => format!("FR{:02}{digits}", n % 97),
        }
    }

    /// A full name.
    pub(super) fn person(self, dice: &Dice) -> (&'static str, &'static str) {
        (dice.pick(self.first_names()), dice.pick(self.surnames()))
    }

    /// The name of a company.
    pub(super) fn company(self, dice: &Dice, city: &str) -> String {
        let (surname, trade) = (dice.pick(self.surnames()), dice.pick(self.trades()));
        let form = dice.pick(self.forms());
        match dice.below(4) {
            0 => format!("{trade} {city} {form}"),
            1 => format!("{surname} {trade} {form}"),
            2 => format!("{surname} & {} {form}", dice.pick(self.surnames())),
            _ => format!("{surname} {trade} {city} {form}"),
        }
    }

    pub(super) fn address(self, dice: &Dice) -> String {
        let number = 1 + dice.below(180);
        match self {
            Country::Italy => {
                let street =
                    dice.pick(&["Via Roma", "Via Po", "Corso Italia", "Via dei Mille", "Viale Europa"]);
                format!("{street} {number}")
            }
            Country::Germany => {
                format!("{} {number}", dice.pick(&["Bahnhofstraße", "Gartenweg", "Hauptstraße"]))
            }
            Country::France => {
                format!("{number} {}", dice.pick(&["rue de la Gare", "avenue du Parc", "quai Nord"]))
            }
        }
    }
}

/// The last digit of an Italian VAT number: digits at even places count twice, crosswise.
fn check_digit(nine_digits: &str) -> u32 {
    // The number starts with a zero, so the first of the nine stands at an even place.
    let sum: u32 = nine_digits
        .bytes()
        .enumerate()
        .map(|(i, b)| {
            let digit = u32::from(b.saturating_sub(b'0'));
            let doubled = digit * 2;
            if i % 2 == 0 { doubled / 10 + doubled % 10 } else { digit }
        })
        .sum();
    (10 - sum % 10) % 10
}

/// Small ASCII letters, digits and `-` of a text: the label of a domain or the local part of an address.
pub(super) fn slug(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars().flat_map(char::to_lowercase) {
        match c {
            'a'..='z' | '0'..='9' => out.push(c),
            'à' | 'á' | 'â' | 'ä' => out.push('a'),
            'è' | 'é' | 'ê' | 'ë' => out.push('e'),
            'ì' | 'î' | 'ï' => out.push('i'),
            'ò' | 'ô' | 'ö' => out.push('o'),
            'ù' | 'û' | 'ü' => out.push('u'),
            'ß' => out.push_str("ss"),
            _ if !out.is_empty() && !out.ends_with('-') => out.push('-'),
            _ => {}
        }
    }
    out.truncate(out.trim_end_matches('-').len());
    out
}

/// Name and host of a machine.
pub(super) fn machine(dice: &Dice, kind: &str, city: &str) -> (String, String) {
    let number = 1 + dice.below(9);
    match (kind, dice.below(4)) {
        ("nsec", 0) => (format!("Firewall {city} {number}"), format!("fw{number}-{}", slug(city))),
        ("nsec", 1) => (format!("fw-{}-{number:02}", slug(city)), format!("fw-{}-{number:02}", slug(city))),
        ("nsec", 2) => (format!("Gateway sede {number}"), format!("gw{number}")),
        ("nsec", _) => (format!("nsec{number:02}"), format!("nsec{number:02}")),
        (_, 0) => (format!("NS8 {city} {number}"), format!("ns8-{}-{number}", slug(city))),
        (_, 1) => (format!("srv-mail{number:02}"), format!("mail{number:02}")),
        (_, 2) => (format!("Server {city}"), format!("srv-{}", slug(city))),
        (_, _) => (format!("cluster{number}"), format!("cluster{number}")),
    }
}

/// A version of the kind of machine; newer ones are more common.
pub(super) fn version(dice: &Dice, kind: &str) -> String {
    let recent = |n: u64| n - dice.below(n + 1) * dice.below(n + 1) / (n + 1);
    match kind {
        "ns8" => format!("3.{}.{}", recent(12), dice.below(6)),
        "nsec" => format!("8.{}.{}", recent(7), dice.below(4)),
        _ => format!("7.{}", recent(9)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn vat_numbers_differ_and_have_their_form() {
        let mut seen = HashSet::new();
        for country in [Country::Italy, Country::Germany, Country::France] {
            for series in [0, 7, 999] {
                assert!((0..500).all(|n| seen.insert(country.vat(series, n * 1999))));
            }
        }
        assert!(seen.iter().all(|v| matches!(v.len(), 11 | 13)));
        assert_eq!(check_digit("074311015"), 7);
    }

    #[test]
    fn slugs_are_labels() {
        assert_eq!(slug("Schäfer & Weiß GmbH"), "schafer-weiss-gmbh");
        assert_eq!(slug("  De Luca Srl."), "de-luca-srl");
    }

    #[test]
    fn versions_exist() {
        let dice = Dice::new(3);
        for kind in ["ns8", "nsec", "legacy"] {
            assert!((0..200).all(|_| version(&dice, kind).split('.').all(|p| p.parse::<u64>().is_ok())));
        }
    }
}
